"""The executor fits the graph."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph.tf_executor import SINGLE_THREADED, choose


def softmax_regression() -> None:
    x = tf.zeros([100, 784])
    with tf.variable_scope("model", use_resource=True):
        weights = tf.get_variable("W", [784, 10])
    loss = tf.reduce_mean(tf.matmul(x, weights))
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def unknown_batch() -> None:
    tf.matmul(tf.placeholder(tf.float32, [None, 64]), tf.zeros([64, 64]))


def convolution() -> None:
    tf.nn.conv2d(tf.zeros([1, 8, 8, 3]), tf.zeros([3, 3, 3, 4]), 1, "SAME")


def wide_layer() -> None:
    tf.matmul(tf.zeros([128, 1024]), tf.zeros([1024, 1024]))


def queue() -> None:
    tf.FIFOQueue(3, tf.int32).dequeue()


def old_control_flow() -> None:
    # What tf.cond builds where control flow of the second generation is off.
    tf.raw_ops.Switch(data=tf.constant(1), pred=tf.constant(True))


def reference_variable() -> None:
    tf.get_variable("W", [784, 10], use_resource=False)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (softmax_regression, SINGLE_THREADED),
        (unknown_batch, SINGLE_THREADED),
        (convolution, ""),
        (wide_layer, ""),
        (queue, ""),
        (old_control_flow, ""),
        (reference_variable, ""),
    ],
)
def test_choice(build: Callable[[], None], expected: str) -> None:
    with tf.Graph().as_default() as graph:
        build()
        assert choose(graph.get_operations()) == expected


def test_the_chosen_executor_runs_an_input_pipeline_and_conditions() -> None:
    with tf.Graph().as_default() as graph:
        number = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3).prefetch(1)).get_next()
        result = number * 2
        config = tf.ConfigProto()
        config.experimental.executor_type = choose(graph.get_operations())
        assert config.experimental.executor_type == SINGLE_THREADED
        with tf.Session(config=config) as session:
            assert [session.run(result) for _ in range(3)] == [0, 2, 4]


def test_conditionals_inside_each_other_do_not_wait_for_themselves() -> None:
    with tf.Graph().as_default() as graph:
        tf.train.piecewise_constant(tf.train.get_or_create_global_step(), [1, 3], [0.3, 0.2, 0.1])
        assert choose(graph.get_operations()) == ""
