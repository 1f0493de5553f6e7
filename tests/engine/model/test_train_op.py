"""One step moves the right variables, all from one forward pass, and counts one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from spreads import alone

from moxing.engine.job.job import Loss, Model
from moxing.engine.model.train_op import train_op
from moxing.engine.parallel.reduce import Spread
from moxing.engine.parallel.replicas import Replica
from moxing.errors import MoxTypeError, MoxValueError


@pytest.fixture(autouse=True)
def built() -> Any:
    with tf.Graph().as_default() as current, tf.variable_scope("", use_resource=True):
        yield current


def sgd() -> tf.train.Optimizer:
    return tf.train.GradientDescentOptimizer(0.1)


def step(op: tf.Operation, variables: list[Any], times: int = 1) -> list[Any]:
    """Values of the variables after some steps."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(times):
            session.run(op)
        return session.run(variables)


def test_one_loss_moves_its_variables_and_the_global_step() -> None:
    w = tf.get_variable("w", initializer=2.0)
    count = tf.train.get_or_create_global_step()
    op = train_op(alone(Loss(tf.square(w))), [sgd], [w], count)
    value, steps = step(op, [w, count], times=3)
    np.testing.assert_allclose(value, 2.0 * 0.8**3, rtol=1e-6)
    assert steps == 3


def test_values_of_a_step_are_those_before_its_update() -> None:
    """Also where the gradient is known without a look at the variable."""
    w = tf.get_variable("w", initializer=0.0)
    shown, put_out = tf.identity(w) * 2.0, w.read_value() + 1.0
    model = Model((Loss(w * -10.0),), {"shown": shown}, {"put_out": put_out})
    count = tf.train.get_or_create_global_step()
    op = train_op(Spread([Replica(0, "", model)]), [sgd], [w], count)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seen = [session.run([shown, put_out, op])[:2] for _ in range(100)]
    assert seen == [[2.0 * step, step + 1.0] for step in range(100)]


def test_two_losses_move_only_their_scopes_and_see_one_forward_pass() -> None:
    a = tf.get_variable("gen/w", initializer=1.0)
    b = tf.get_variable("generator2/w", initializer=1.0)
    count = tf.train.get_or_create_global_step()
    product = a * b
    losses = [Loss(product, ("gen",)), Loss(-product, ("generator2",))]
    op = train_op(alone(*losses), [sgd, sgd], [a, b], count)
    # Each gradient uses the other variable's value before the step.
    expected_a, expected_b = 1.0, 1.0
    for _ in range(20):
        expected_a, expected_b = expected_a - 0.1 * expected_b, expected_b + 0.1 * expected_a
    value_a, value_b, steps = step(op, [a, b, count], times=20)
    np.testing.assert_allclose([value_a, value_b], [expected_a, expected_b], rtol=1e-5)
    assert steps == 20


def test_batch_norm_statistics_are_updated_by_the_step() -> None:
    w = tf.get_variable("w", initializer=1.0)
    statistic = tf.get_variable("mean", initializer=0.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(statistic, 1.0))
    op = train_op(alone(Loss(w)), [sgd], [w], tf.train.get_or_create_global_step())
    assert step(op, [statistic], times=4) == [4.0]


def test_a_scope_without_variables_names_the_scopes_there_are() -> None:
    w = tf.get_variable("discriminator/w", initializer=1.0)
    with pytest.raises(MoxValueError) as caught:
        train_op(alone(Loss(w, ("disc",))), [sgd], [w], tf.train.get_or_create_global_step())
    assert str(caught.value) == (
        "var_scopes of loss match no trainable variable: ['disc']. Scopes of this model are"
        " ['discriminator']; a scope matches whole components of a name."
    )


def test_a_loss_without_gradient_is_named() -> None:
    w = tf.get_variable("w", initializer=1.0)
    loss = tf.cast(tf.argmax([w, 2.0]), tf.float32, name="best")
    with pytest.raises(MoxValueError, match=r"loss \(best:0\) does not depend on any trainable"):
        train_op(alone(Loss(loss)), [sgd], [w], tf.train.get_or_create_global_step())


def test_a_model_without_variables_is_an_error() -> None:
    with pytest.raises(MoxValueError, match="model_fn made no trainable variables"):
        train_op(alone(Loss(tf.constant(1.0))), [sgd], [], tf.train.get_or_create_global_step())


def test_an_optimizer_fn_that_returns_something_else_is_named() -> None:
    w = tf.get_variable("w", initializer=1.0)
    with pytest.raises(MoxTypeError, match=r"optimizer_fn returned a builtins\.str, not a tf"):
        train_op(alone(Loss(w)), [lambda: "sgd"], [w], tf.train.get_or_create_global_step())
