"""The reads that an update must be told to wait for are those that no gradient waits for."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Loss, Model
from moxing.engine.parallel import variable_reads
from moxing.engine.parallel.replicas import Replica


@pytest.fixture(autouse=True)
def built() -> Any:
    with tf.Graph().as_default() as current, tf.variable_scope("", use_resource=True):
        yield current


class Decaying(tf.train.GradientDescentOptimizer):
    """As programs write it: moves a variable before its gradient is known."""

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        pairs = list(grads_and_vars)
        with tf.control_dependencies([v.assign(v * 0.5, read_value=False) for _, v in pairs]):
            return super().apply_gradients(pairs, global_step, name)


def sgd() -> tf.train.Optimizer:
    return tf.train.GradientDescentOptimizer(0.1)


def left(loss: Any, optimizer: tf.train.Optimizer, **shown: Any) -> set[str]:
    """The variables of which reads are left to wait for."""
    model = Model((Loss(loss),), shown, {})
    found = variable_reads.of([Replica(0, "", model)])
    assert found
    moved = [(gradient, v) for gradient, v in optimizer.compute_gradients(loss) if v is not None]
    known = [(gradient, v) for gradient, v in moved if gradient is not None]
    ops = variable_reads.unordered(found, optimizer, known)
    return {op.inputs[0].op.name for op in ops}


def network() -> Any:
    x = tf.ones([4, 3])
    for number in range(2):
        w = tf.get_variable(f"w{number}", [3, 3])
        x = tf.nn.sigmoid(tf.matmul(x, w) + tf.get_variable(f"b{number}", [3]))
    return tf.reduce_mean(tf.square(x))


def test_what_gradients_are_computed_from_needs_no_waiting() -> None:
    assert left(network(), sgd()) == set()


def test_so_for_rows_of_a_table() -> None:
    table = tf.get_variable("table", [10, 3])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, [1, 1, 7])))
    assert left(loss, sgd()) == set()


def test_a_gradient_that_needs_only_the_shape_of_a_variable_does_not_wait_for_its_value() -> None:
    """As the critic of a Wasserstein GAN: the loss is linear in its last layer."""
    x = tf.ones([4, 3])
    hidden = tf.nn.sigmoid(tf.matmul(x, tf.get_variable("w", [3, 3])))
    score = tf.matmul(hidden, tf.get_variable("last", [3, 1])) + tf.get_variable("bias", [1])
    assert left(tf.reduce_mean(score), sgd()) == {"bias"}


def test_a_second_read_for_a_shown_value_is_waited_for() -> None:
    loss = network()
    w0 = next(v for v in tf.trainable_variables() if v.op.name == "w0")
    assert left(loss, sgd(), norm=tf.norm(w0.read_value())) == {"w0"}


def test_a_variable_that_no_gradient_moves_is_waited_for() -> None:
    mean = tf.get_variable("moving_mean", [], trainable=False)
    assert left(network() + mean, sgd()) == {"moving_mean"}


def test_an_optimizer_with_ways_of_its_own_waits_for_all() -> None:
    assert left(network(), Decaying(0.1)) == {"w0", "b0", "w1", "b1"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        lambda: tf.train.AdamOptimizer(),
        lambda: tf.train.FtrlOptimizer(0.1),
    ],
)
def test_each_of_tensorflows_waits_for_none(make: Any) -> None:
    assert left(network(), make()) == set()
