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


def test_places_of_gather_nd_have_the_length_that_their_input_declares(
    devices: Callable[[int], None],
) -> None:
    devices(1)

    @flow.function
    def job(places: Any = PLACES) -> Any:
        return flow.gather_nd(flow.constant(1.0, flow.float, (5, 4)), places * 2)

    assert job([np.zeros((2, 1), np.int32)]).get().ndarray_list()[0].tolist() == [[1] * 4] * 2


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


def _conv(x: Any) -> Any:
    w = flow.get_variable("w", (2, 3, 3, 3), initializer=flow.ones_initializer())
    return flow.nn.conv2d(x, w, 2, "SAME", "NCHW")


# Each gives the shape that a whole batch of four images of 3 x 8 x 8 has, or of one device's.
STEPS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "conv": (_conv, (4, 2, 4, 4)),
    "layer": (lambda x: flow.layers.conv2d(x, 5, 3, name="c"), (4, 5, 6, 6)),
    "max_pool": (lambda x: flow.nn.max_pool2d(_conv(x), 2, 2, "VALID", "NCHW"), (4, 2, 2, 2)),
    "avg_pool": (lambda x: flow.nn.avg_pool2d(x, 3, 2, "SAME", "NCHW"), (4, 3, 4, 4)),
    "batch_norm": (lambda x: flow.layers.batch_normalization(_conv(x), 1), (4, 2, 4, 4)),
    "transpose": (lambda x: flow.transpose(x, perm=[0, 2, 3, 1]), (4, 8, 8, 3)),
    "mean": (lambda x: flow.math.reduce_mean(x, axis=[2, 3]), (4, 3)),
    "whole_mean": (lambda x: flow.math.reduce_mean(x, axis=[1, 2, 3], keepdims=True), (4, 1, 1, 1)),
    "concat": (lambda x: flow.concat([x, x * 2.0], axis=1), (4, 6, 8, 8)),
    "slice": (lambda x: flow.slice(x, [None, 1, 0, 0], [None, 2, 8, 3]), (4, 2, 8, 3)),
    "slice_by_size": (lambda x: flow.slice(x, [0] * 4, [x.shape[0], 1, 8, 8]), (4, 1, 8, 8)),
    "pad": (lambda x: flow.pad(x, [(0, 0), (0, 0), (1, 1), (2, 0)]), (4, 3, 10, 10)),
    "dense": (lambda x: flow.layers.dense(x, 7, name="d"), (4, 3, 8, 7)),
    "cast": (lambda x: flow.cast(_conv(x), flow.int32), (4, 2, 4, 4)),
    "one_hot": (lambda x: flow.one_hot(flow.cast(x, flow.int32), 4), (4, 3, 8, 8, 4)),
    "softmax": (lambda x: flow.nn.softmax(flow.reshape(_conv(x), (4, -1))), (4, 32)),
    "flat": (lambda x: _flat(_conv(x)), (4, 32)),
    "flat_pool": (lambda x: _flat(flow.nn.max_pool2d(x, 2, 2, "VALID", "NCHW")), (4, 48)),
    "by_all_sizes": (lambda x: flow.reshape(x, (x.shape[0], 3, 64)), (4, 3, 64)),
    "batch_of_rows": (lambda x: flow.reshape(_conv(x), (-1, 4)), (32, 4)),
}


def _flat(x: Any) -> Any:
    return flow.reshape(x, (x.shape[0], -1))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", STEPS)
def test_the_sizes_of_results_are_those_that_the_inputs_declare(
    devices: Callable[[int], None], name: str, count: int
) -> None:
    make, wanted = STEPS[name]
    shapes: list[Any] = []

    def of(definition: Any) -> Any:
        @flow.function
        def job(x: Any = definition) -> Any:
            y = make(x)
            shapes.append(y.shape)
            return y

        flow.train.CheckPoint().init()
        return job

    chance = np.random.default_rng(0)
    arrays = [chance.uniform(0, 3, (n, 3, 8, 8)).astype(np.float32) for n in (2, 1)[:count]]
    devices(count)
    pieces = of(flow.MirroredTensorDef((4, 3, 8, 8)))(arrays).get().ndarray_list()
    devices(1)
    dynamic = of(flow.input_blob_def((4, 3, 8, 8), is_dynamic=True))(arrays[0]).get().ndarray()

    assert shapes == [wanted, wanted]
    assert [piece.shape[0] for piece in pieces] == [len(a) * wanted[0] // 4 for a in arrays]
    assert pieces[0].shape[1:] == wanted[1:]
    np.testing.assert_allclose(pieces[0], dynamic, rtol=1e-6)


def test_a_network_of_dynamic_inputs_trains_as_on_the_whole_batch(
    devices: Callable[[int], None],
) -> None:
    chance = np.random.default_rng(0)
    images = chance.normal(size=(3, 3, 8, 8)).astype(np.float32)
    labels = np.array([1, 0, 2], np.int32)

    def losses(count: int, definition: Any, given: Any, of_labels: Any) -> list[float]:
        devices(count)

        @flow.function
        def job(
            x: Any = definition((4, 3, 8, 8)),  # noqa: B008
            y: Any = definition((4,), flow.int32),  # noqa: B008
        ) -> Any:
            flow.config.train.primary_lr(0.01)
            flow.config.train.model_update_conf({"momentum_conf": {}})
            h = flow.nn.max_pool2d(flow.math.relu(_conv(x)), 2, 2, "VALID", "NCHW")
            h = flow.reshape(h, (h.shape[0], -1))
            first = flow.constant_initializer(0.01)
            h = flow.layers.dense(h, 3, kernel_initializer=first, name="fc")
            loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, h)
            flow.losses.add_loss(loss)
            return loss

        flow.train.CheckPoint().init()
        return [float(np.mean(job(given, of_labels).get())) for _ in range(3)]

    fixed = lambda shape, dtype=flow.float: flow.FixedTensorDef((3, *shape[1:]), dtype)  # noqa: E731
    one = losses(1, fixed, images, labels)
    mirrored = flow.MirroredTensorDef
    two = losses(2, mirrored, [images[:2], images[2:]], [labels[:2], labels[2:]])
    assert one[2] < one[0]
    np.testing.assert_allclose(two, one, rtol=1e-5)
