"""What is said where memory is exhausted: the tensor that was asked for, and the largest ones."""

from __future__ import annotations

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import blame, exhausted
from moxing.engine.wording import report


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (203, "203 bytes"),
        (1500, "1.5 KB"),
        (999_499, "999 KB"),
        (999_700, "1 MB"),
        (10.24e12, "10.2 TB"),
        (2e18, "2e+03 PB"),
    ],
)
def test_sizes(count: float, text: str) -> None:
    assert report.size(count) == text


def test_memory_that_is_asked_for_and_the_largest_tensors() -> None:
    with tf.Graph().as_default() as graph:
        count = tf.placeholder_with_default(1 << 40, [])
        small = tf.ones([1000, 10]) + 1.0
        big = tf.random_uniform([count, 1000], name="big")
        with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError) as raised:
            session.run(tf.reduce_sum(big) + tf.reduce_sum(small))
        note = blame.about(raised.value, graph, "in step 3")

    assert note.startswith("openmox: raised in step 3")
    assert "by 'big/RandomUniform' (test_exhausted.py:" in note
    assert "4.4 PB were asked for: float32 of shape [1099511627776, 1000]" in note
    assert "40 KB" in note
    assert note.endswith(
        " To need less, lower the batch size, take it in parts (--accumulate_steps=N), or compute"
        " in 16 bits."
    )


def test_where_the_message_names_no_operation_those_of_the_shape_are_named() -> None:
    with tf.Graph().as_default() as graph:
        tf.zeros([4, 8], name="other")
        tf.ones([2, tf.placeholder_with_default(3, [])])
        message = (
            "OOM when allocating tensor with shape[2,3] and type float on CPU by allocator cpu"
        )
        error = tf.errors.ResourceExhaustedError(None, None, message)

        note = blame.about(error, graph, "in step 0")

    assert "24 bytes were asked for: float32 of shape [2, 3], as 'ones' (test_exhausted.py:" in note


def test_other_errors_say_nothing_of_memory() -> None:
    with tf.Graph().as_default() as graph:
        error = tf.errors.InvalidArgumentError(None, None, "bad")

        assert exhausted.told(error, graph, lambda op: op.name) == ""
