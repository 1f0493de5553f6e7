"""One blob of each device, and back: on devices of the session and of a placement scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxTypeError, MoxValueError

X = np.random.default_rng(6).normal(size=(5, 4)).astype(np.float32)


def _found(job: Callable[[Any], Any]) -> Any:
    def listed(x: Any = flow.FixedTensorDef(X.shape)) -> Any:  # noqa: B008
        return job(x)

    return flow.function(listed)(X).get()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_parts_of_devices_are_split_cloned_added_and_concatenated(
    devices: Callable[[int], None], count: int
) -> None:
    devices(count)

    def job(x: Any) -> Any:
        parts = flow.advanced.distribute_split(x)
        copies = flow.advanced.distribute_clone(x)
        whole = flow.advanced.distribute_concat(parts)
        total = flow.advanced.distribute_add([c * float(i) for i, c in enumerate(copies)])
        across = flow.advanced.distribute_concat(flow.advanced.distribute_split(x, 1), 1)
        squares = flow.advanced.distribute_map(x, flow.math.square)
        sums = flow.advanced.distribute_map([x, x], lambda a, b: (a + b, a - b), axis=1)
        return parts, copies, whole, total, across, squares, sums

    parts, copies, whole, total, across, squares, sums = _found(job)

    assert len(parts) == len(copies) == count
    for found, wanted in zip(parts, np.array_split(X, count), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for found in (*copies, whole, across):
        np.testing.assert_array_equal(found, X)
    np.testing.assert_allclose(total, X * sum(range(count)), rtol=1e-6)
    np.testing.assert_allclose(squares, X * X, rtol=1e-6)
    np.testing.assert_allclose(sums[0], 2 * X, rtol=1e-6)
    np.testing.assert_array_equal(sums[1], np.zeros_like(X))


@pytest.mark.parametrize("count", [1, 2])
def test_gradients_go_through_the_parts_of_devices(
    devices: Callable[[int], None], count: int
) -> None:
    devices(count)

    @flow.function
    def job(x: Any = flow.FixedTensorDef(X.shape)) -> Any:  # noqa: B008
        flow.config.train.primary_lr(1.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (4,), initializer=flow.ones_initializer())
        with flow.fixed_placement("cpu", "0:0-1"):
            y = flow.advanced.distribute_map(flow.math.square(x) * w, flow.math.square)
            z = flow.advanced.distribute_add(flow.advanced.distribute_clone(y))
        flow.losses.add_loss(z)
        return w

    flow.train.CheckPoint().init()
    job(X).get()
    slope = (4 * X**4).sum(0) / X.size
    np.testing.assert_allclose(job(X).get(), 1 - slope, rtol=1e-4)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (lambda x: flow.advanced.distribute_concat([x]), "one blob of each of the 2 devices of"),
        (lambda x: flow.advanced.distribute_add([x] * 3), "distribute_add takes one blob of each"),
        (lambda x: flow.advanced.distribute_split(x, 2), r"axis=2 is no axis of \(5, 4\)"),
        (
            lambda x: flow.advanced.distribute_split(flow.slice(x, [0, 0], [1, -1])),
            r"2 devices can't share axis 0 of \(1, 4\)",
        ),
        (lambda x: flow.advanced.distribute_map(x, lambda part: 3), "the function returned 3; it"),
    ],
)
def test_blobs_that_do_not_fit_the_devices_are_told(
    devices: Callable[[int], None], job: Callable[[Any], Any], message: str
) -> None:
    devices(2)
    with pytest.raises((MoxValueError, MoxTypeError), match=message):
        _found(job)
