"""Batches hold every sample once, in order, with the shapes that the contract promises."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data import inputs
from moxing.errors import MoxValueError

once = tf.data.make_one_shot_iterator


def numbers(stop: int) -> Callable[[str], Any]:
    """An input_fn of single samples: n and its square as a vector of two."""

    def input_fn(mode: str) -> Any:
        number = once(tf.data.Dataset.range(stop)).get_next()
        return number, tf.stack([number, number * number])

    return input_fn


def run(
    input_fn: Callable[[str], Any], mode: str, batch_size: int | None, make_batches: bool
) -> tuple[inputs.Inputs, list[Any]]:
    """Builds the inputs and evaluates them until they end."""
    with tf.Graph().as_default():
        made = inputs.build(input_fn, mode, batch_size, make_batches)
        with tf.Session() as session:
            session.run(list(made.initializers))
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            batches = []
            try:
                while len(batches) < 50:
                    batches.append(session.run(made.structure))
            except tf.errors.OutOfRangeError:
                pass
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=10)
        return made, batches


def test_training_batches_are_full_with_static_shapes() -> None:
    made, batches = run(numbers(10), "TRAIN", 4, True)
    assert [tensor.shape.as_list() for tensor in made.structure] == [[4], [4, 2]]
    assert made.samples == 4
    assert [batch[0].tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert batches[1][1].tolist() == [[4, 16], [5, 25], [6, 36], [7, 49]]


@pytest.mark.parametrize("mode", ["EVAL", "PREDICT"])
def test_other_modes_get_the_rest_too(mode: str) -> None:
    made, batches = run(numbers(10), mode, 4, True)
    assert [tensor.shape.as_list() for tensor in made.structure] == [[None], [None, 2]]
    assert [batch[0].tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_batch_size_without_auto_batch_changes_nothing() -> None:
    made, batches = run(numbers(3), "TRAIN", 4, False)
    assert [tensor.shape.as_list() for tensor in made.structure] == [[], [2]]
    assert len(batches) == 3


def test_no_batch_size_means_no_batching() -> None:
    _, batches = run(numbers(3), "TRAIN", None, True)
    assert [batch[0] for batch in batches] == [0, 1, 2]


@pytest.mark.parametrize("as_v2", [False, True])
def test_a_dataset_is_a_result_too(as_v2: bool) -> None:
    def input_fn(mode: str) -> Any:
        data = tf.compat.v2.data.Dataset if as_v2 else tf.data.Dataset
        return data.range(5).map(lambda n: {"n": n, "half": tf.cast(n, tf.float32) / 2})

    made, batches = run(input_fn, "EVAL", 2, True)
    assert isinstance(made.structure, dict)
    assert [batch["n"].tolist() for batch in batches] == [[0, 1], [2, 3], [4]]
    assert [batch["half"].tolist() for batch in batches] == [[0, 0.5], [1, 1.5], [2]]


def test_a_queue_is_batched_by_a_queue_with_every_sample_once() -> None:
    def input_fn(mode: str) -> Any:
        data = tf.constant(np.arange(21))
        return tf.train.input_producer(data, num_epochs=1, shuffle=False).dequeue()

    with tf.Graph().as_default():
        made = inputs.build(input_fn, "EVAL", 4, True)
        with tf.Session() as session:
            session.run([tf.local_variables_initializer(), *made.initializers])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            found: list[int] = []
            try:
                while True:
                    found.extend(session.run(made.structure)[0].tolist())
            except tf.errors.OutOfRangeError:
                coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=10)
    assert sorted(found) == list(range(21))


def test_strings_and_integers_batch() -> None:
    def input_fn(mode: str) -> Any:
        number = once(tf.data.Dataset.range(2)).get_next()
        return tf.as_string(number), number

    _, batches = run(input_fn, "EVAL", 2, True)
    assert batches[0][0].tolist() == [b"0", b"1"]


def test_a_dictionary_arrives_as_one() -> None:
    made, batches = run(
        lambda mode: {"x": once(tf.data.Dataset.range(2)).get_next()}, "EVAL", 2, True
    )
    assert set(made.structure) == {"x"}
    assert batches[0]["x"].tolist() == [0, 1]


def test_input_operations_are_on_the_cpu() -> None:
    with tf.Graph().as_default():
        made = inputs.build(numbers(3), "TRAIN", 2, True)
        assert isinstance(made.structure, list)
        assert made.structure[0].op.device == "/device:CPU:0"


def test_samples_come_from_the_first_dimension() -> None:
    def batched(mode: str) -> Any:
        data = tf.data.Dataset.from_tensor_slices(np.zeros([10, 3], np.float32)).batch(4)
        return once(data).get_next()

    with tf.Graph().as_default():
        made = inputs.build(batched, "EVAL", None, True)
        assert isinstance(made.samples, tf.Tensor)
        with tf.Session() as session:
            session.run(list(made.initializers))
            assert [session.run(made.samples) for _ in range(3)] == [4, 4, 2]


def test_waiting_for_data_is_measured() -> None:
    asked = threading.Semaphore(0)

    def slow() -> Any:
        for number in range(3):
            asked.acquire()
            time.sleep(0.2)
            yield number

    with tf.Graph().as_default():
        made = inputs.build(
            lambda mode: once(tf.data.Dataset.from_generator(slow, tf.int64, [])).get_next(),
            "TRAIN",
            None,
            False,
        )
        with tf.Session() as session:
            session.run(list(made.initializers))
            waits = []
            for _ in range(3):
                asked.release()
                waits.append(session.run([made.structure, made.wait])[1])
    assert sum(waits) > 0.05
    assert sum(waits) < 10


@pytest.mark.parametrize(
    ("shape", "shown"), [([None, None, 3], "[?, ?, 3]"), (None, "of unknown rank")]
)
def test_samples_of_unknown_shape_are_refused_with_the_remedy(shape: Any, shown: str) -> None:
    def input_fn(mode: str) -> Any:
        image = tf.py_func(lambda: np.zeros([2, 2, 3], np.float32), [], tf.float32)
        image.set_shape(shape)
        return tf.constant(1), image

    with tf.Graph().as_default(), pytest.raises(MoxValueError) as caught:
        inputs.build(input_fn, "TRAIN", 32, True)
    assert str(caught.value) == (
        f"inputs[1] has shape {shown}: with auto_batch=True and batch_size=32 every sample must"
        " have one and the same known shape. If it is a single sample, resize it"
        " (tf.image.resize_images) or declare its shape (tensor.set_shape); if input_fn already"
        " yields batches, pass auto_batch=False."
    )


def test_batched_input_that_is_batched_again_is_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with tf.Graph().as_default(), caplog.at_level(logging.WARNING, "tensorflow"):
        made = inputs.build(
            lambda mode: (tf.zeros([16, 784]), tf.zeros([16, 10])), "TRAIN", 12, True
        )
    assert isinstance(made.structure, list)
    assert made.structure[0].shape.as_list() == [12, 16, 784]
    assert caplog.messages == [
        "input_fn seems to yield a batch of 16 already, and auto_batch=True adds a dimension of 12"
        " in front (inputs[0]: [12, 16, 784], inputs[1]: [12, 16, 10]). If that is not meant, pass"
        " auto_batch=False."
    ]


def test_an_error_inside_names_the_function() -> None:
    def broken(mode: str) -> Any:
        raise ZeroDivisionError("mine")

    with tf.Graph().as_default(), pytest.raises(ZeroDivisionError) as caught:
        inputs.build(broken, "TRAIN", None, False)
    (note,) = caught.value.__notes__
    assert note.startswith("openmox: raised while calling input_fn broken (test_inputs.py:")
    assert note.endswith("mode TRAIN")


@pytest.mark.parametrize(
    ("buffer", "devices", "buffers"),
    [(None, 1, [2]), (1, 1, [1]), (tf.data.AUTOTUNE, 2, [-1]), (2, 2, [2]), (1, 2, [1, 4])],
)
def test_elements_are_buffered_once(buffer: int | None, devices: int, buffers: list[int]) -> None:
    def input_fn(mode: str) -> Any:
        data = tf.data.Dataset.range(20).batch(2)
        return once(data if buffer is None else data.prefetch(buffer)).get_next()

    with tf.Graph().as_default() as graph:
        inputs.build(input_fn, "TRAIN", None, False, devices=devices)
        ends = [op for op in graph.get_operations() if op.type == "PrefetchDataset"]
        assert [int(tf.get_static_value(op.inputs[1])) for op in ends] == buffers


@pytest.mark.parametrize(("batched", "devices"), [(False, 1), (True, 1), (False, 2)])
def test_an_input_is_not_mistaken_for_another_where_operations_are_fused(
    batched: bool, devices: int
) -> None:
    """TensorFlow 2.21 adds the first output of the iterator, whichever stands in the sum."""
    random = np.random.default_rng(0)
    other, mask = random.random((2, 2, 1, 6, 6), np.float32)
    queries = random.random((2, 2, 6, 4), np.float32)

    def input_fn(mode: str) -> Any:
        data = tf.data.Dataset.from_tensor_slices((other, queries, mask)).repeat()
        return once(data if batched else data.batch(2)).get_next()

    with tf.Graph().as_default():
        made = inputs.build(input_fn, "TRAIN", 2 if batched else None, batched, devices=devices)
        sums = [tf.matmul(q, q, transpose_b=True) * 0.5 + added for _, q, added in made.structures]
        with tf.Session() as session:
            session.run(list(made.initializers))
            found = session.run(sums)
    expected = queries @ queries.transpose(0, 1, 3, 2) * 0.5 + mask
    for one in found:
        np.testing.assert_allclose(one, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "samples"),
    [
        (([784], [784]), 784),
        (([784], []), 1),
        (([8, 4], [100, 4]), 8),
        (([8, 4], [8], []), 8),
    ],
)
def test_an_image_and_its_class_that_nobody_batches_are_one_sample(
    given: tuple[list[int], ...], samples: int
) -> None:
    def input_fn(mode: str) -> Any:
        first, *others = given
        return [tf.zeros(first), *(tf.zeros(shape, tf.int32) for shape in others)]

    with tf.Graph().as_default():
        assert inputs.build(input_fn, "TRAIN", None, False).counts == (samples,)
