"""What nothing uses is not computed, and what is used stays what it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from spreads import alone

from moxing.engine.graph import ancestry
from moxing.engine.graph.rewrites import pruning
from moxing.engine.job.job import Loss
from moxing.engine.model.train_op import train_op


def convolutions() -> tf.Tensor:
    images = tf.constant(np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32))
    start = tf.constant_initializer(0.1)
    for index, filters in enumerate((4, 5)):
        kernel = tf.get_variable(f"w{index}", [3, 3, images.shape[3], filters], initializer=start)
        images = tf.nn.relu(tf.nn.conv2d(images, kernel, 1, "SAME"))
    return tf.reduce_mean(tf.square(images))


def types(results: Sequence[Any]) -> list[str]:
    return [op.type for op in ancestry.behind(results)]


def test_the_gradient_of_the_data_is_not_computed() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        loss = convolutions()
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        gated = [gradient for gradient, _ in optimizer.compute_gradients(loss)]
        with pruning.watched() as found:
            found += [gradient for gradient, _ in optimizer.compute_gradients(loss)]
        assert types(gated).count("Conv2DBackpropInput") == 2
        assert types(found).count("Conv2DBackpropInput") == 1
        assert types(found).count("Conv2DBackpropFilter") == 2
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for left, right in zip(*session.run([gated, found]), strict=True):
                np.testing.assert_array_equal(left, right)


def test_a_step_does_without_it() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        spread = alone(Loss(convolutions()))
        step = tf.train.get_or_create_global_step()
        functions = [lambda: tf.train.MomentumOptimizer(0.1, 0.9)]
        train = train_op(spread, functions, tf.trainable_variables(), step)
        assert types([train]).count("Conv2DBackpropInput") == 1


def test_what_waits_by_the_program_s_will_goes_on_to() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        weight = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        with tf.name_scope("own"):
            counted = tf.assign_add(tf.get_variable("n", initializer=0.0, trainable=False), 1.0)
            held, _ = tf.tuple([weight * 2.0, counted])
        with pruning.watched() as found:
            found += tf.gradients(tf.reduce_sum(tf.square(held)), [weight, weight.handle])[:1]
        assert "AssignAddVariableOp" in types(found)


def test_loops_and_gradients_that_are_none_or_sparse() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        table = tf.get_variable("table", [4, 2], initializer=tf.ones_initializer())
        other = tf.get_variable("other", [2], initializer=tf.ones_initializer())
        rows = tf.gather(table, [0, 2])
        x = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x * other), [0, rows])[1]
        unused = tf.get_variable("unused", [1])
        with pruning.watched() as found:
            found += tf.gradients(tf.reduce_sum(x), [table, other, unused])
        assert isinstance(found[0], tf.IndexedSlices)
        assert found[2] is None
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            sparse, dense = session.run(found[:2])
            np.testing.assert_array_equal(sparse.values, np.ones([2, 2]))
            np.testing.assert_array_equal(dense, [6.0, 6.0])
