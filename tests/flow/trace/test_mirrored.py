"""Mirrored inputs and results: on several devices, an array of its own for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxNotSupportedError, MoxValueError

X = [np.arange(6, dtype=np.float32).reshape(2, 3), np.full((1, 3), 9, np.float32)]


def _job(function: Callable[[Any], Any]) -> Any:
    @flow.function
    def job(x: Any = flow.MirroredTensorDef((4, 3))) -> Any:  # noqa: B008
        return function(x)

    return job


def test_each_device_gets_its_array_and_gives_its_own(devices: Callable[[int], None]) -> None:
    devices(2)
    shapes: list[Any] = []

    def double(x: Any) -> Any:
        shapes.append(x.shape)
        return {"y": x * 2.0 - x, "sum": flow.math.reduce_sum(x, 0)}

    found = _job(double)(X).get()

    assert shapes == [(4, 3)]
    assert [piece.tolist() for piece in found["y"].ndarray_list()] == [x.tolist() for x in X]
    # An operation over samples is each device's own.
    assert [piece.tolist() for piece in found["sum"]] == [[3, 5, 7], [9, 9, 9]]
    assert len(found["y"]) == 2
    assert found["y"].shape == (3, 3)
    np.testing.assert_array_equal(found["y"], np.concatenate(X))


def test_results_of_other_shapes_come_apart_only(devices: Callable[[int], None]) -> None:
    devices(2)
    found = _job(lambda x: flow.transpose(x, (1, 0)))(X).get()
    assert [piece.shape for piece in found] == [(3, 2), (3, 1)]
    with pytest.raises(MoxValueError) as error:
        found.ndarray()
    assert str(error.value) == (
        "the devices' arrays have the shapes (3, 2), (3, 1), and can't be put together: use"
        " .ndarray_list()."
    )


def test_on_one_device_the_list_has_one_array(devices: Callable[[int], None]) -> None:
    devices(1)
    (found,) = _job(lambda x: x + x)([X[0]]).get().ndarray_list()
    np.testing.assert_array_equal(found, 2 * X[0])


def test_training_is_that_of_all_samples_on_one_device(devices: Callable[[int], None]) -> None:
    def train(count: int, value: Any) -> tuple[float, np.ndarray]:
        devices(count)

        def model(x: Any) -> Any:
            flow.config.train.primary_lr(0.5)
            flow.config.train.model_update_conf({"momentum_conf": {}})
            w = flow.get_variable("w", (3, 1), initializer=flow.ones_initializer())
            loss = flow.math.square(flow.math.reduce_sum(flow.matmul(x, w), 1))
            flow.losses.add_loss(loss)
            return loss, w

        job = _job(model)
        flow.train.CheckPoint().init()
        return float(job(value).get()[0].mean()), job(value).get()[1]

    one, two = train(1, [np.concatenate(X)]), train(2, X)
    np.testing.assert_allclose(two[0], one[0], rtol=1e-6)
    np.testing.assert_allclose(two[1], one[1], rtol=1e-6)


def test_another_number_of_arrays_is_an_error(devices: Callable[[int], None]) -> None:
    devices(2)
    job = _job(lambda x: x)
    for value in ([X[0]], X[0], [*X, X[0]]):
        with pytest.raises(
            MoxValueError, match="x: a mirrored input takes a list of 2 arrays, one"
        ):
            job(value)


def test_an_operation_that_would_mix_devices_is_refused(devices: Callable[[int], None]) -> None:
    devices(2)

    def mix(x: Any) -> Any:
        ids = flow.constant(0, flow.int32, (4,))
        return flow.math.unsorted_segment_sum(x, ids, 3)

    with pytest.raises(MoxNotSupportedError, match="unsorted_segment_sum takes no mirrored blob"):
        _job(mix)(X)


ROWS = flow.MirroredTensorDef((5, 4))
PLACES = flow.MirroredTensorDef((3, 1), flow.int32)


def test_places_of_gather_nd_may_be_fewer_than_declared(devices: Callable[[int], None]) -> None:
    devices(1)

    @flow.function
    def job(x: Any = ROWS, places: Any = PLACES) -> Any:
        return flow.gather_nd(x * 2, places)

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = job([x], [np.array([[2], [0]], np.int32)]).get().ndarray_list()[0]
    assert found.tolist() == (2 * x[[2, 0]]).tolist()


def test_places_of_gather_nd_need_a_fixed_length(devices: Callable[[int], None]) -> None:
    devices(1)

    @flow.function
    def job(places: Any = PLACES) -> Any:
        return flow.gather_nd(flow.constant(1.0, flow.float, (5, 4)), places * 2)

    with pytest.raises(MoxNotSupportedError, match="the last axis of its indices"):
        job([np.zeros((2, 1), np.int32)])


def test_a_reshape_keeps_the_declared_sizes_and_the_samples_that_come(
    devices: Callable[[int], None],
) -> None:
    devices(2)
    shapes: list[Any] = []

    def flat(x: Any) -> Any:
        grown = flow.reshape(x, (x.shape[0], 1, -1))
        shapes.extend([grown.shape, flow.reshape(grown, (-1, 3)).shape])
        w = flow.get_variable("w", (grown.shape[2], 2), initializer=flow.ones_initializer())
        return flow.matmul(flow.reshape(grown, (grown.shape[0], -1)), w)

    job = _job(flat)
    flow.train.CheckPoint().init()
    found = job(X).get()

    assert shapes == [(4, 1, 3), (4, 3)]
    assert [piece.tolist() for piece in found] == [[[3, 3], [12, 12]], [[27, 27]]]
