"""Datasets tell their types inside functions, and take int32, as in TensorFlow 1.x."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.sessions import nested_datasets


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    nested_datasets.install()
    nested_datasets.install()
    yield
    nested_datasets.uninstall()


def test_windows_are_padded_to_the_shapes_that_they_tell() -> None:
    told: list[Any] = []

    def padded(key: Any, window: Any) -> Any:
        told.extend([window.output_shapes, window.output_types, window.output_classes])
        return window.padded_batch(2, window.output_shapes)

    with tf.Graph().as_default(), tf.Session() as session:
        numbers = tf.data.Dataset.from_tensor_slices(tf.constant([1, 2, 3, 4], tf.int64))
        filled = numbers.map(lambda n: tf.fill([n], n))
        grouped = tf.data.experimental.group_by_window(lambda row: row[0] % 2, padded, 2)
        batch = tf.data.make_one_shot_iterator(filled.apply(grouped)).get_next()
        rows = [session.run(batch).tolist() for _ in range(2)]

    assert rows == [[[1, 0, 0], [3, 3, 3]], [[2, 2, 0, 0], [4, 4, 4, 4]]]
    assert [told[0].as_list(), told[1], told[2]] == [[None], tf.int64, tf.Tensor]


@pytest.mark.parametrize("kind", [tf.int32, tf.int64])
def test_the_number_of_parallel_calls_is_a_tensor_of_either_type(kind: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        numbers = tf.data.Dataset.range(5)
        by_name = numbers.map(lambda n: n + 1, num_parallel_calls=tf.constant(2, kind))
        by_place = by_name.map(lambda n: n * 2, tf.constant(2, kind))
        by_place = by_place.map_with_legacy_function(lambda n: -n, tf.constant(2, kind))
        batch = tf.data.make_one_shot_iterator(by_place.batch(5)).get_next()
        assert session.run(batch).tolist() == [-2, -4, -6, -8, -10]


def test_sizes_computed_by_numpy_are_numbers() -> None:
    size = np.int64(3 << 20) // np.prod([4, 4]) + 1
    with tf.Graph().as_default(), tf.Session() as session:
        numbers = tf.data.Dataset.range(5).prefetch(size).prefetch(buffer_size=np.array(2))
        numbers = numbers.repeat(np.int64(2)).shuffle(np.int32(1)).batch(np.int64(5))
        batch = tf.data.make_one_shot_iterator(numbers.prefetch(np.int64(-1))).get_next()
        assert session.run(batch).tolist() == [0, 1, 2, 3, 4]


def test_uninstalling_leaves_tensorflow_as_it_was() -> None:
    nested_datasets.uninstall()
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="int64"):
            tf.data.Dataset.range(4).map(lambda n: n, tf.constant(2))
        with pytest.raises(TypeError, match="legacy_autotune"):
            tf.data.Dataset.range(4).prefetch(np.int64(1))
        windows = tf.data.Dataset.range(4).window(2)
        windows.flat_map(lambda window: _without_shapes(window))


def _without_shapes(window: Any) -> Any:
    assert not hasattr(window, "output_shapes")
    return window
