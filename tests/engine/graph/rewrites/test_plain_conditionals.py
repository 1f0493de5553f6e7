"""TensorFlow's own conditionals about assertions and counts are not built, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.eager import context

from moxing.engine.graph import devices, tf_executor
from moxing.engine.graph.rewrites import plain_conditionals

CONDITIONALS = ("If", "StatelessIf", "Switch", "Merge")


@pytest.fixture(autouse=True)
def installed() -> None:
    plain_conditionals.install()
    plain_conditionals.install()  # Once more changes nothing.


def _kinds(graph: tf.Graph) -> set[str]:
    return {op.type for op in graph.get_operations()}


def test_an_assertion_is_one_operation_and_fails_as_before() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        with tf.control_dependencies([tf.debugging.assert_less_equal(x, 1.0, message="too large")]):
            y = x + 1.0
        assert not _kinds(graph) & {*CONDITIONALS}
        assert "Assert" in _kinds(graph)
        assert tf_executor.choose(graph.get_operations()) == tf_executor.SINGLE_THREADED
        assert session.run(y, {x: [0.5]}) == [1.5]
        with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
            session.run(y, {x: [0.5, 1.5]})


def test_zeros_are_counted_without_a_conditional() -> None:
    values = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]], np.float32)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        share = tf.nn.zero_fraction(x)
        assert not _kinds(graph) & {*CONDITIONALS}
        assert session.run(share, {x: values}) == pytest.approx(4 / 6)


def test_gpus_keep_their_conditionals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    with tf.Graph().as_default() as graph:
        tf.debugging.assert_less_equal(tf.placeholder(tf.float32, [None]), 1.0)
        assert _kinds(graph) & {*CONDITIONALS}


def test_assertions_and_counts_of_eager_code_are_unchanged() -> None:
    with context.eager_mode():
        assert float(tf.nn.zero_fraction(tf.constant([0.0, 1.0]))) == 0.5
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.debugging.Assert(tf.constant(False), [tf.constant(1.0)])


def test_a_known_predicate_takes_its_branch() -> None:
    with tf.Graph().as_default() as graph:
        one, other = tf.constant(1), tf.constant(2)
        size = tf.size(tf.zeros([3]), out_type=tf.int64)
        taken = plain_conditionals.static(tf.equal(size, 0), lambda: one, lambda: other)
        assert taken is other
        assert not _kinds(graph) & {*CONDITIONALS}
        plain_conditionals.static(tf.placeholder(tf.bool, []), lambda: one, lambda: other)
        assert _kinds(graph) & {*CONDITIONALS}
