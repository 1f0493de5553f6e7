"""A change of a reader's tensor is left to the reader where nothing else needs the tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data import fusion
from moxing.engine.data.fusion import Batch
from moxing.engine.data.lift import lift


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


class Reader:
    """Gives (i, 10 i); with the change k in place of the first it gives k + i, counted in `made`.

    As a program makes the change, the result is k i: so results say who made it.
    """

    def __init__(self, count: int = 4, batches: bool = True) -> None:
        self.made: list[tuple[int, Batch | None]] = []
        self._count, self._batches = count, batches
        numbers = tf.data.Dataset.range(count).map(lambda i: (i, 10 * i))
        self.first, self.second = tf.data.make_one_shot_iterator(numbers).get_next()
        fusion.offer(self.first, self._rebuild)

    def _rebuild(self, change: int, batch: Batch | None) -> Any:
        self.made.append((change, batch))
        numbers = tf.data.Dataset.range(self._count)
        changed = numbers.map(lambda i: (tf.cast(change + i, tf.int32), 10 * i))
        if batch is None:
            return changed
        return changed.batch(batch.size, batch.full) if self._batches else None

    def changed(self, factor: int) -> tf.Tensor:
        result = tf.cast(self.first * factor, tf.int32)
        fusion.note(self.first, factor, result)
        return result


def _values(tensors: list[tf.Tensor], batch: Batch | None = None) -> list[Any]:
    element = tf.data.make_one_shot_iterator(lift(tensors, batch=batch).dataset).get_next()
    rows = []
    with tf.Session() as session:
        try:
            while True:
                rows.append(tuple(np.asarray(item).tolist() for item in session.run(element)))
        except tf.errors.OutOfRangeError:
            return rows


def test_a_change_that_is_all_is_made_by_the_reader_in_batches_too() -> None:
    reader = Reader()
    tensors = [reader.second, reader.changed(5)]
    assert _values(tensors) == [(0, 5), (10, 6), (20, 7), (30, 8)]
    assert _values(tensors, Batch(3, False)) == [([0, 10, 20], [5, 6, 7]), ([30], [8])]
    assert _values(tensors, Batch(3, True)) == [([0, 10, 20], [5, 6, 7])]
    assert reader.made == [(5, None), (5, Batch(3, False)), (5, Batch(3, True))]


def test_operations_behind_the_change_stay_the_programs() -> None:
    reader = Reader(3)
    result = [reader.changed(5) + 1, -reader.second]
    assert _values(result, Batch(2, False)) == [([6, 7], [0, -10]), ([8], [-20])]
    assert reader.made == [(5, None)]


def test_a_reader_that_can_make_no_such_batches_makes_elements() -> None:
    reader = Reader(3, batches=False)
    assert _values([reader.changed(5)], Batch(2, True)) == [([5, 6],)]


@pytest.mark.parametrize(
    "others",
    [
        lambda reader, result: [reader.first],
        lambda reader, result: [result + tf.cast(reader.first, tf.int32)],
        lambda reader, result: [reader.changed(7)],
    ],
    ids=["the tensor itself", "an operation", "another change"],
)
def test_a_tensor_with_another_use_is_left_to_the_program(
    others: Callable[[Reader, tf.Tensor], list[tf.Tensor]],
) -> None:
    reader = Reader(3)
    result = reader.changed(5)
    rows = _values([result, *others(reader, result)])
    assert [row[0] for row in rows] == [0, 5, 10]
    assert reader.made == []


def test_what_a_program_makes_for_another_purpose_is_not_asked_for() -> None:
    reader = Reader(2)
    reader.changed(5)
    assert _values([reader.second]) == [(0,), (10,)]
    assert reader.made == []


def test_of_two_readers_each_makes_its_own_change() -> None:
    one, other = Reader(2), Reader(3)
    rows = _values([one.changed(5), other.changed(100), other.second])
    assert rows == [(5, 100, 0), (6, 101, 10)]
    assert one.made == [(5, None)]
    assert other.made == [(100, None)]


def test_what_waits_for_an_element_needs_not_wait_in_the_pipeline() -> None:
    element = tf.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next()
    with tf.control_dependencies([element]):
        result = tf.constant(3) + 1
    assert _values([element, result]) == [(0, 4), (1, 4)]
