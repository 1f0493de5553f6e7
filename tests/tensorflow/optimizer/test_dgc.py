"""Deep gradient compression against appendix B of arXiv:1712.01887 in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.optimizer import get_optimizer_fn, get_optimizer_wrapper_fn
from moxing.tensorflow.optimizer.sparsity import EXACT_BELOW, largest_mask

SHAPES = {"kernel": (8, 5), "bias": (4,)}
START = {name: np.zeros(shape) for name, shape in SHAPES.items()}


def dgc(rate: float = 1.0, steps_per_epoch: int = 1, **kwargs: Any) -> Any:
    def make() -> tf.train.Optimizer:
        inner = get_optimizer_fn("sgd", rate)()
        return get_optimizer_wrapper_fn("dgc", inner, steps_per_epoch=steps_per_epoch, **kwargs)()

    return make


def reference(
    steps: list[np.ndarray], keep: list[int], momentum: float, nesterov: bool, masking: bool
) -> np.ndarray:
    weights = np.zeros_like(steps[0], np.float64)
    u, v = np.zeros_like(weights), np.zeros_like(weights)
    for g, count in zip(steps, keep, strict=True):
        u = momentum * (u + g) if nesterov else momentum * u + g
        v = v + u + g if nesterov else v + u
        threshold = np.sort(np.abs(v).ravel())[-count]
        mask = np.abs(v) >= threshold
        weights = weights - np.where(mask, v, 0)
        v = np.where(mask, 0, v)
        if masking:
            u = np.where(mask, 0, u)
    return weights


@pytest.mark.parametrize("masking", [True, False])
@pytest.mark.parametrize("kind", ["vanilla", "nesterov"])
def test_the_rule(kind: str, masking: bool, follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, 6)
    make = dgc(sparsity=(0.9,), momentum=0.8, momentum_type=kind, momentum_factor_masking=masking)
    seen = follow(make, START, steps)
    kernel = reference(
        [step["kernel"] for step in steps], [4] * 6, 0.8, kind == "nesterov", masking
    )
    np.testing.assert_allclose(seen.weights[-1]["kernel"], kernel, rtol=1e-5, atol=1e-6)
    assert np.count_nonzero(seen.weights[0]["kernel"]) == 4


def test_sparsity_grows_by_epoch_and_stays(follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, 7)
    seen = follow(dgc(steps_per_epoch=2, sparsity=(0.5, 0.75, 0.95)), START, steps)
    kernel = reference(
        [step["kernel"] for step in steps], [20, 20, 10, 10, 2, 2, 2], 0.9, False, True
    )
    np.testing.assert_allclose(seen.weights[-1]["kernel"], kernel, rtol=1e-5, atol=1e-6)


def test_vectors_are_sent_whole_with_momentum(follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, 5)
    seen = follow(dgc(sparsity=(0.9,)), START, steps)
    plain = follow(get_optimizer_fn("momentum", 1.0, momentum=0.9), START, steps)
    np.testing.assert_allclose(seen.weights[-1]["bias"], plain.weights[-1]["bias"], rtol=1e-5)
    assert "bias/dgc_residual" not in seen.slots[-1]
    sparse = follow(dgc(sparsity=(0.9,), skip_vectors=False), START, steps)
    assert np.count_nonzero(sparse.weights[0]["bias"]) == 1


def test_no_sparsity_and_no_masking_is_momentum(follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, 5)
    seen = follow(dgc(sparsity=(0.0,), momentum_factor_masking=False), START, steps)
    plain = follow(get_optimizer_fn("momentum", 1.0, momentum=0.9), START, steps)
    np.testing.assert_allclose(seen.weights[-1]["kernel"], plain.weights[-1]["kernel"], rtol=1e-5)


def test_reduce_sees_what_is_sent(follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, 2)
    plain = follow(dgc(), START, steps)
    halved = follow(dgc(reduce=lambda tensor: tensor / 2), START, steps)
    np.testing.assert_allclose(
        halved.weights[-1]["kernel"], plain.weights[-1]["kernel"] / 2, rtol=1e-6
    )
    np.testing.assert_array_equal(
        halved.slots[-1]["kernel/dgc_residual"], plain.slots[-1]["kernel/dgc_residual"]
    )


def test_a_sampled_threshold_comes_close_and_depends_on_the_step_only() -> None:
    values = np.random.default_rng(3).normal(size=(512, 16, 64)).astype(np.float32)
    assert values.size > EXACT_BELOW
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int64, [])
        mask = largest_mask(tf.constant(values), tf.constant(0.99), step)
        at = [session.run(mask, {step: now}) for now in (0, 1, 0)]
    assert np.array_equal(at[0], at[2])
    assert not np.array_equal(at[0], at[1])
    for one in at:
        assert np.abs(values[one]).min() > np.abs(values[~one]).max()
        assert 0.008 < one.mean() < 0.012


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"steps_per_epoch": 0}, "steps_per_epoch is 0; it must be >= 1."),
        (
            {"sparsity": (0.5, 1.0)},
            "sparsity is (0.5, 1.0); it must be shares in [0, 1), one for each epoch.",
        ),
        ({"sparsity": ()}, "sparsity is (); it must be shares in [0, 1), one for each epoch."),
        ({"momentum": 1.0}, "momentum is 1.0; it must be in [0, 1)."),
        (
            {"momentum_type": "nestorov"},
            "unknown momentum_type 'nestorov'. Did you mean 'nesterov'? Known: vanilla, nesterov.",
        ),
    ],
)
def test_bad_arguments(kwargs: dict[str, Any], message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(MoxValueError) as caught:
        dgc(**kwargs)()
    assert str(caught.value) == f"dgc: {message}"
