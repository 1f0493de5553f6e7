"""Elastic averaging against the synchronous rule of arXiv:1412.6651 in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.optimizer import get_optimizer_fn, get_optimizer_wrapper_fn

SHAPES = {"kernel": (3, 2), "bias": (2,)}
START = {name: np.ones(shape) for name, shape in SHAPES.items()}


def easgd(rate: float = 0.1, **kwargs: Any) -> Any:
    def make() -> tf.train.Optimizer:
        return get_optimizer_wrapper_fn("easgd", get_optimizer_fn("sgd", rate)(), **kwargs)()

    return make


def reference(
    steps: list[dict[str, np.ndarray]], period: int, alpha: float, rate: float = 0.1
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    weights = {name: value.copy() for name, value in START.items()}
    center = {name: value.copy() for name, value in START.items()}
    for at, step in enumerate(steps):
        for name in weights:
            gap = weights[name] - center[name]
            if at % period == 0:
                weights[name] = weights[name] - alpha * gap
                center[name] = center[name] + alpha * gap
            weights[name] = weights[name] - rate * step[name]
    return weights, center


@pytest.mark.usefixtures("control_flow")
@pytest.mark.parametrize(("period", "alpha"), [(1, 0.1), (3, 0.4)])
def test_the_rule(period: int, alpha: float, follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, 8)
    seen = follow(easgd(communication_period=period, moving_rate=alpha), START, steps)
    weights, center = reference(steps, period, alpha)
    for name in SHAPES:
        np.testing.assert_allclose(seen.weights[-1][name], weights[name], rtol=1e-5)
        np.testing.assert_allclose(seen.slots[-1][f"{name}/center"], center[name], rtol=1e-5)
    assert seen.global_steps == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_center_of_one_worker_meets_it_halfway_by_default(follow: Any) -> None:
    steps = [{"w": [1.0]}] * 11
    seen = follow(easgd(rate=1.0), {"w": [0.0]}, steps)
    assert seen.weights[9]["w"] == [-10.0]
    assert seen.slots[9]["w/center"] == [0.0]
    assert seen.slots[10]["w/center"] == [-5.0]
    assert seen.weights[10]["w"] == [-6.0]


def test_several_workers_share_the_center(follow: Any) -> None:
    # The other worker is always one below this one.
    make = easgd(
        rate=1.0,
        communication_period=1,
        moving_rate=0.25,
        num_workers=2,
        worker_mean=lambda tensor: tensor - 0.5,
    )
    seen = follow(make, {"w": [8.0]}, [{"w": [4.0]}, {"w": [0.0]}])
    # At first the center is 8, then 8 + 2 * 0.25 * (mean - 8) with mean 7.5.
    assert seen.slots[0]["w/center"] == [7.75]
    assert seen.weights[0]["w"] == [4.0]
    # Then w = 4 - 0.25 (4 - 7.75), center = 7.75 + 0.5 (3.5 - 7.75).
    assert seen.weights[1]["w"] == [4.9375]
    assert seen.slots[1]["w/center"] == [5.625]


@pytest.mark.usefixtures("control_flow")
def test_copies_on_several_devices_move_alike(follow: Any, gradients: Any) -> None:
    steps = [{"w": one["w"], "openmox_replica_1/w": one["w"]} for one in gradients({"w": (3,)}, 6)]
    start = {"w": np.ones(3), "openmox_replica_1/w": np.ones(3)}
    seen = follow(easgd(communication_period=2), start, steps)
    for weights in seen.weights:
        np.testing.assert_array_equal(weights["w"], weights["openmox_replica_1/w"])
    assert [name for name in seen.variables if "easgd" in name] == ["easgd/steps", "w/easgd"]


def test_variables_of_equal_gradients_have_centers_of_their_own(follow: Any) -> None:
    slope = np.ones(2, np.float32)
    steps = [{"a": slope, "b": slope}] * 2
    seen = follow(easgd(communication_period=1), {"a": [1.0, 1.0], "b": [5.0, 5.0]}, steps)
    np.testing.assert_array_equal(seen.slots[0]["a/center"], [1.0, 1.0])
    np.testing.assert_array_equal(seen.slots[0]["b/center"], [5.0, 5.0])


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"communication_period": 0}, "communication_period is 0; it must be at least 1."),
        ({"num_workers": 0}, "num_workers is 0; it must be at least 1."),
        ({"moving_rate": 1.5}, "moving_rate is 1.5; it must be in (0, 1]."),
        (
            {"num_workers": 4},
            "4 workers share a center, so worker_mean, the mean of a tensor over all workers, "
            "must be given.",
        ),
    ],
)
def test_bad_arguments(kwargs: dict[str, Any], message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(MoxValueError) as caught:
        easgd(**kwargs)()
    assert str(caught.value) == f"easgd: {message}"
