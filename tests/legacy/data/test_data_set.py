"""Batches: epochs join, shuffles are NumPy's, types and shapes are as documented."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.legacy.data.data_set import DataSet


def _data(count: int = 10, **options: Any) -> DataSet:
    images = np.arange(count, dtype=np.uint8).reshape(count, 1, 1, 1).repeat(4, axis=1)
    return DataSet(images, np.arange(count, dtype=np.uint8), **options)


def test_without_shuffling_batches_are_in_order_and_join_epochs() -> None:
    data = _data(5, dtype=np.uint8)

    batches = [data.next_batch(2, shuffle=False)[1].tolist() for _ in range(5)]

    assert batches == [[0, 1], [2, 3], [4, 0], [1, 2], [3, 4]]
    assert data.epochs_completed == 1
    assert data.next_batch(1, shuffle=False)[1].tolist() == [0]
    assert data.epochs_completed == 2


def test_each_epoch_is_shuffled_and_holds_every_sample() -> None:
    data = _data(10)

    taken = np.concatenate([data.next_batch(3)[1] for _ in range(10)])

    assert data.epochs_completed == 2
    epochs = taken.reshape(3, 10)
    assert all(sorted(epoch.tolist()) == list(range(10)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3


def test_shuffles_are_those_of_numpys_global_generator() -> None:
    np.random.seed(3)
    first, second = np.arange(10), np.arange(10)
    np.random.shuffle(first)
    np.random.shuffle(second)

    data = _data(10, seed=3)
    taken = [data.next_batch(10)[1].tolist() for _ in range(2)]

    # The second epoch shuffles what the first had shuffled.
    assert taken == [first.tolist(), first[second].tolist()]


def test_images_and_labels_stay_together() -> None:
    data = _data(10, dtype=np.uint8)

    for _ in range(7):
        images, labels = data.next_batch(4)
        assert (images == labels[:, None]).all()
    assert (data.images[:, 0] == data.labels).all()


def test_types_scales_and_shapes() -> None:
    images = np.array([0, 51, 255, 1], np.uint8).reshape(1, 2, 2, 1)

    scaled = DataSet(images, [3])
    assert scaled.images.dtype == np.float32
    # As in the original: the bytes as float32, times 1/255.
    assert (scaled.images[0] == np.array([0, 51, 255, 1], np.float32) * (1.0 / 255.0)).all()
    assert scaled.next_batch(1)[0].tolist() == scaled.images.tolist()
    raw = DataSet(images, [3], dtype=tf.uint8, reshape=False)
    assert raw.next_batch(1)[0].shape == (1, 2, 2, 1)
    assert raw.next_batch(1)[0].dtype == raw.images.dtype == np.uint8
    assert DataSet(images, [3], dtype=tf.float32).images.dtype == np.float32
    assert (scaled.num_examples, scaled.epochs_completed) == (1, 0)


def test_a_batch_larger_than_the_data_spans_epochs() -> None:
    data = _data(3)

    _, labels = data.next_batch(8, shuffle=False)

    assert labels.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert data.epochs_completed == 2


@pytest.mark.parametrize(("one_hot", "label"), [(False, 0), (True, [1] + [0] * 9)])
def test_fake_data(one_hot: bool, label: Any) -> None:
    data = DataSet([], [], fake_data=True, one_hot=one_hot)

    images, labels = data.next_batch(2)

    assert images == [[1] * 784, [1] * 784]
    assert labels == [label, label]
    assert data.num_examples == 10000
    assert _data(3).next_batch(1, fake_data=True)[0] == [[1] * 784]


def test_the_seed_of_the_default_graph_is_used() -> None:
    def first() -> list[int]:
        with tf.Graph().as_default():
            tf.set_random_seed(5)
            return _data(10).next_batch(10)[1].tolist()

    assert first() == first()


def test_no_seed_leaves_numpys_generator_alone() -> None:
    np.random.seed(1)
    expected = np.random.rand()
    np.random.seed(1)
    with tf.Graph().as_default():
        _data(3)

    assert np.random.rand() == expected


def test_what_does_not_fit_is_refused() -> None:
    images = np.zeros((2, 2, 2, 1), np.uint8)

    with pytest.raises(MoxTypeError, match="dtype must be uint8 or float32, not tf.int32."):
        DataSet(images, [1, 2], dtype=tf.int32)
    with pytest.raises(MoxValueError, match="there are 2 images and 1 labels."):
        DataSet(images, [1])
    with pytest.raises(MoxValueError, match=r"\[number, rows, columns, 1\], not \(2, 2, 2, 3\)"):
        DataSet(np.zeros((2, 2, 2, 3)), [1, 2])
    with pytest.raises(MoxValueError, match="cannot take a batch of -1 from 2 images."):
        DataSet(images, [1, 2]).next_batch(-1)
    with pytest.raises(MoxValueError, match="cannot take a batch of 1 from 0 images."):
        DataSet(images[:0], []).next_batch(1)
