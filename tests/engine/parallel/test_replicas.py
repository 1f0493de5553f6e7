"""A model function that is called once per device makes one model's variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Loss, Model
from moxing.engine.parallel import replicas
from moxing.errors import MoxValueError


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    with tf.Graph().as_default() as current, tf.variable_scope("", use_resource=True):
        yield current


def built(count: int, copied: bool, call: Callable[[int], Any]) -> list[replicas.Replica]:
    def model(index: int) -> Model:
        return Model(losses=(Loss(call(index)),))

    return replicas.build([""] * count, copied, model)


def layered(index: int) -> tf.Tensor:
    """Variables of every kind that programs make."""
    x = tf.layers.dense(tf.ones([2, 3]), 4, kernel_regularizer=tf.nn.l2_loss)
    x = tf.layers.batch_normalization(x, training=True)
    with tf.variable_scope("scope"):
        w = tf.get_variable("w", initializer=1.0)
    plain = tf.Variable([1.0, 2.0, 3.0, 4.0], name="plain")
    x = tf.keras.layers.Dense(4)(x * w * plain)
    mean, _ = tf.metrics.mean(x)
    return tf.reduce_sum(x) + 0.0 * mean


def names(collection: str) -> list[str]:
    return [variable.op.name for variable in tf.get_collection(collection)]


@pytest.mark.parametrize("count", [2, 12])
def test_shared_variables_are_made_once(count: int) -> None:
    built(1, False, layered)
    alone = names(tf.GraphKeys.GLOBAL_VARIABLES), names(tf.GraphKeys.TRAINABLE_VARIABLES)
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        built(count, False, layered)
        several = names(tf.GraphKeys.GLOBAL_VARIABLES), names(tf.GraphKeys.TRAINABLE_VARIABLES)
        assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2
        assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
        assert len(tf.local_variables()) == 2 * count
    assert several == alone


def test_copies_are_no_part_of_the_model() -> None:
    parts = built(3, True, layered)
    variables = tf.global_variables()
    originals = replicas.originals(variables)
    assert len(variables) == 3 * len(originals)
    assert names(tf.GraphKeys.TRAINABLE_VARIABLES) == [
        variable.op.name for variable in originals if variable.trainable
    ]
    assert len(parts[2].copies) == len(originals)
    assert parts[2].own(originals[0]).op.name.endswith(f"2/{originals[0].op.name}")


def test_copies_start_as_their_originals() -> None:
    built(2, True, layered)
    tell = replicas.copies_from_originals()
    variables = tf.global_variables()
    with tf.Session() as session:
        session.run(tf.variables_initializer(replicas.originals(variables)))
        session.run(tell)
        values = {v.op.name: session.run(v) for v in variables}
    for name, value in values.items():
        if replicas.is_copy(next(v for v in variables if v.op.name == name)):
            np.testing.assert_array_equal(value, values[name.split("/", 1)[1]])


@pytest.mark.parametrize("copied", [False, True])
def test_each_call_finds_its_own_losses_only(copied: bool) -> None:
    found = []

    def call(index: int) -> tf.Tensor:
        tf.get_variable("w", initializer=1.0, regularizer=tf.nn.l2_loss)
        tf.add_to_collection("mine", index)
        found.append(list(tf.get_collection("mine")))
        losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        assert len(losses) == 1
        assert len(tf.trainable_variables()) == 1
        return tf.add_n(losses)

    built(12, copied, call)
    assert found == [[index] for index in range(12)]


def test_a_variable_that_only_a_later_call_makes_is_named() -> None:
    def call(index: int) -> tf.Tensor:
        w = tf.get_variable("w", initializer=1.0)
        return w if index == 0 else w + tf.get_variable("extra", initializer=1.0)

    with pytest.raises(MoxValueError) as raised:
        built(2, False, call)
    assert str(raised.value) == (
        "model_fn made the variable 'extra' for device 1, which it did not make for device 0. It is"
        " called once per device and has to build the same model each time."
    )


def test_a_variable_that_a_later_call_leaves_out_is_named() -> None:
    def call(index: int) -> tf.Tensor:
        w = tf.get_variable("w", initializer=1.0)
        return w + tf.get_variable("first", initializer=1.0) if index == 0 else w

    with pytest.raises(MoxValueError, match="made the variable 'first' for device 0 but not for"):
        built(2, False, call)


def test_a_variable_of_another_shape_is_named() -> None:
    def call(index: int) -> tf.Tensor:
        return tf.reduce_sum(tf.get_variable("w", [2 + index]))

    with pytest.raises(MoxValueError, match=r"'w' of shape \(3,\) for device 1 where it made 'w'"):
        built(2, False, call)
