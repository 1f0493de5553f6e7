"""No sample goes missing without a word, whatever kind of error its work ends with."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.decoding import guard
from moxing.tensorflow.datasets.decoding.problems import Problems
from moxing.tensorflow.datasets.decoding.skipped import Skipped
from moxing.tensorflow.datasets.order import Order

PROBLEMS = Problems(
    lambda number: f"sample {number}", lambda number: "is bad." if number == 3 else ""
)
# As TensorFlow sees them: of the end of data, of an argument, of memory, unknown.
ERRORS = [StopIteration, ValueError, MemoryError, RuntimeError]


def work(kind: type[Exception]) -> guard.Work:
    """Gives twice the number of a sample, but fails for number 3."""

    def twice(number: Any) -> Any:
        if number == 3:
            raise kind("bad")
        return 2 * number

    def function(position: tf.Tensor, number: tf.Tensor) -> tuple[tf.Tensor, ...]:
        del position
        return (tf.ensure_shape(tf.numpy_function(twice, [number], tf.int64), []),)

    return guard.Work(function)


def rows(dataset: Any) -> list[int]:
    found = []
    with tf.Session() as session:
        _, (_, _, result) = tf.data.make_one_shot_iterator(dataset).get_next()
        try:
            while True:
                found += session.run(tf.reshape(result, [-1])).tolist()
        except tf.errors.OutOfRangeError:
            return found


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("size", [None, 2])
def test_a_failure_ends_the_data_with_an_error(kind: Any, size: int | None) -> None:
    order = Order(5, 1, shuffle=False, seed=0)
    with tf.Graph().as_default():
        if size is None:
            dataset = guard.strict_map(order, 0, work(kind), PROBLEMS)
        else:
            dataset = guard.strict_batches(order, 0, work(kind), PROBLEMS, size, full=False)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"sample 3 is bad\. Mend or delete"
        ):
            rows(dataset)


@pytest.mark.parametrize("size", [None, 2])
def test_a_sound_sample_behind_a_bad_one_is_not_blamed(size: int | None) -> None:
    order = Order(9, 1, shuffle=False, seed=0)
    with tf.Graph().as_default(), tf.Session() as session:
        if size is None:
            dataset = guard.strict_map(order, 0, work(ValueError), PROBLEMS)
        else:
            dataset = guard.strict_batches(order, 0, work(ValueError), PROBLEMS, size, full=False)
        element = tf.data.make_one_shot_iterator(dataset).get_next()
        told = []
        while len(told) < 3:
            try:
                session.run(element)
            except tf.errors.InvalidArgumentError as error:
                told.append(error.message)
    assert all("sample 3 is bad. Mend or delete" in text for text in told)
    assert not any("could not in its turn" in text for text in told)


@pytest.mark.parametrize("kind", ERRORS)
def test_a_failure_is_left_out_on_demand(kind: Any, messages: Any) -> None:
    order = Order(5, 2, shuffle=False, seed=0)
    with tf.Graph().as_default():
        found = rows(guard.tolerant_map(order, 0, work(kind), Skipped(order, PROBLEMS)))
    assert found == [0, 2, 4, 8] * 2
    assert messages() == [
        "skip_bad=True leaves out sample 3 is bad.",
        "skip_bad=True left out 1 of 5 samples in epoch 1.",
        "skip_bad=True left out 1 of 5 samples in epoch 2.",
    ]


def test_a_failure_that_nothing_explains(messages: Any) -> None:
    del messages
    silent = Problems(lambda number: f"sample {number}", lambda number: "")
    order = Order(5, 1, shuffle=False, seed=0)
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError) as caught:
        rows(guard.strict_map(order, 0, work(RuntimeError), silent))
    assert "sample 3 can be read now, but could not in its turn." in caught.value.message
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError) as caught:
        rows(guard.strict_batches(order, 0, work(RuntimeError), silent, 2, full=True))
    assert (
        "sample 2 or one of the 1 that follow can be read now, but could not in its turn."
        in caught.value.message
    )
