"""Placeholders have the structure, dtypes and shapes of the training inputs."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine import export
from moxing.errors import MoxNotSupportedError


def _shapes(fed: Any) -> list[Any]:
    return [tensor.shape.as_list() if tensor.shape.rank is not None else None for tensor in fed]


@pytest.fixture
def training() -> list[Any]:
    with tf.Graph().as_default():
        return [
            tf.zeros([32, 28, 28, 1]),
            tf.zeros([32], tf.int64),
            tf.constant("name"),
            tf.placeholder(tf.uint8, None),
        ]


@pytest.mark.parametrize(
    ("batch_unknown", "shapes"),
    [
        (True, [[None, 28, 28, 1], [None], [], None]),
        (False, [[32, 28, 28, 1], [32], [], None]),
    ],
)
def test_a_list(training: list[Any], batch_unknown: bool, shapes: list[Any]) -> None:
    with tf.Graph().as_default() as graph:
        fed = export.placeholders(training, batch_unknown)
    assert isinstance(fed, list)
    assert _shapes(fed) == shapes
    assert [tensor.dtype for tensor in fed] == [tf.float32, tf.int64, tf.string, tf.uint8]
    assert [tensor.op.type for tensor in fed] == ["Placeholder"] * 4
    assert all(tensor.graph is graph for tensor in fed)


def test_dicts_and_nested_lists_stay_and_name_the_placeholders(training: list[Any]) -> None:
    with tf.Graph().as_default():
        fed = export.placeholders({"the image": training[0], "more": training[1:3]}, True)
    assert list(fed) == ["the image", "more"]
    assert fed["the image"].name == "inputs_the_image:0"
    assert [tensor.name for tensor in fed["more"]] == ["inputs_more_0:0", "inputs_more_1:0"]


def test_a_sparse_tensor() -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0, 1]], [1.0], [4, 9])
        fed = export.placeholders([sparse], True)[0]
        assert isinstance(fed, tf.SparseTensor)
        assert fed.shape.as_list() == [None, 9]
        with tf.Session() as session:
            value = tf.SparseTensorValue([[1, 2]], [3.0], [2, 9])
            assert session.run(tf.sparse.reduce_sum(fed), {fed: value}) == 3.0


def test_a_ragged_tensor_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(MoxNotSupportedError) as raised:
        export.placeholders({"words": tf.ragged.constant([[1], [2, 3]])}, True)
    assert str(raised.value) == (
        "inputs['words'] is a RaggedTensor, and a model with ragged inputs can't be exported."
        " Let input_fn return a dense tensor: ragged.to_tensor()."
    )
