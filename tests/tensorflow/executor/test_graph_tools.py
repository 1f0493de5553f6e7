"""What model functions call while they build: collections of their own, and variable types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import MoxTypeError


def test_collection_is_a_new_list() -> None:
    with tf.Graph().as_default():
        tf.add_to_collection("mine", 1)
        tf.add_to_collection("mine", 2)
        found = mox.get_collection("mine")
        assert found == [1, 2]
        found.clear()
        assert mox.get_collection("mine") == [1, 2]
        assert mox.get_collection("nobody's") == []


def test_regularization_losses_of_a_scope() -> None:
    with tf.Graph().as_default():
        for scope in ("first", "second"):
            with tf.variable_scope(scope, regularizer=tf.keras.regularizers.l2(0.5)):
                tf.get_variable("w", [2], initializer=tf.ones_initializer())
        key = tf.GraphKeys.REGULARIZATION_LOSSES
        both = mox.get_collection(key)
        (one,) = mox.get_collection(key, "second")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(both) == [1.0, 1.0]
            assert session.run(one) == 1.0


def test_variables_are_stored_in_one_type_and_read_in_another() -> None:
    with tf.Graph().as_default():
        with mox.var_scope(force_dtype=tf.float32):
            half = tf.get_variable("half", [2], tf.float16, tf.ones_initializer())
            same = tf.get_variable("same", [2])
            count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer())
        stored = {variable.op.name: variable.dtype.base_dtype for variable in tf.global_variables()}
        assert stored == {"half": tf.float32, "same": tf.float32, "count": tf.int32}
        assert half.dtype == tf.float16
        assert not isinstance(same, tf.Tensor)
        assert not isinstance(count, tf.Tensor)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            np.testing.assert_array_equal(session.run(half), np.ones(2, np.float16))


def test_outside_of_the_scope_nothing_changes() -> None:
    with tf.Graph().as_default():
        with mox.var_scope(tf.float32):
            pass
        assert tf.get_variable("after", [], tf.float16).dtype.base_dtype == tf.float16
        with mox.var_scope():
            assert tf.get_variable("inside", [], tf.float16).dtype.base_dtype == tf.float16


def test_names_are_those_without_the_scope() -> None:
    with tf.Graph().as_default(), tf.variable_scope("model"), mox.var_scope(tf.float32):
        tf.get_variable("w", [2], tf.float16)
        with tf.variable_scope("inner"):
            tf.get_variable("w", [2], tf.float16)
        assert [v.op.name for v in tf.global_variables()] == ["model/w", "model/inner/w"]


@pytest.mark.parametrize("dtype", [tf.int32, tf.string, "int64", bool])
def test_types_that_are_not_floating(dtype: Any) -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(MoxTypeError, match=r"mox\.var_scope: force_dtype=\w+ is no floating-point"),
        mox.var_scope(force_dtype=dtype),
    ):
        pass


@pytest.mark.parametrize("dtype", [object(), 3.5, "floatt32"])
def test_values_that_are_no_types(dtype: Any) -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(MoxTypeError, match=r"mox\.var_scope: force_dtype=.* is no type"),
        mox.var_scope(force_dtype=dtype),
    ):
        pass


def test_losses_of_16_bits_and_penalties_of_32_add_up_behind_the_scope() -> None:
    with tf.Graph().as_default():
        images = tf.ones([2, 28, 28, 1], tf.float16)
        with mox.var_scope(force_dtype=tf.float32):
            network = mox.get_model_fn("lenet", mox.ModeKeys.TRAIN, 10, weight_decay=0.01)
            logits, _ = network(images)
        loss = tf.losses.sparse_softmax_cross_entropy([1, 2], logits)
        penalties = tf.losses.get_regularization_losses()
        assert logits.dtype == tf.float16
        assert penalties
        total = loss + tf.add_n(penalties)
        assert total.dtype == tf.losses.get_total_loss().dtype == tf.float32


def test_training_in_half_precision_on_float_variables(run: Callable[..., Any]) -> None:
    def model_fn(inputs: list[tf.Tensor], mode: str) -> mox.ModelSpec:
        features = tf.cast(inputs[0], tf.float16)
        with mox.var_scope(force_dtype=tf.float32):
            weights = tf.get_variable("w", [3, 2], tf.float16, tf.zeros_initializer())
        logits = tf.cast(tf.matmul(features, weights), tf.float32)
        loss = tf.losses.sparse_softmax_cross_entropy(inputs[1], logits)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    assert run(model_fn=model_fn, max_number_of_steps=50).metrics["loss"] < 0.5
