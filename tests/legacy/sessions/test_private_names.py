"""Private attributes of graphs that programs of TensorFlow 1.x read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.sessions import private_names


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    private_names.install()
    yield
    private_names.uninstall()


def test_operations_and_tensors_know_their_neighbors() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.0, 2.0])
        with tf.control_dependencies([x]):
            other = tf.constant([3.0, 4.0])
        left, right = tf.split(other, 2)
        total = tf.add(left, right)

    assert total.op._inputs == [left, right]
    assert total.op._outputs == [total]
    assert other.op._control_inputs == [x.op]
    assert (left._value_index, right._value_index) == (0, 1)
    assert total.op._graph is graph
    assert graph._version == graph.version > 0
    assert any(__file__ in str(frame) for frame in total.op._traceback)


def test_losses_of_regularizers_are_averaged_like_others() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for name in ("first", "second"):
            tf.get_variable(
                name, initializer=[1.0, 2.0], regularizer=lambda w: tf.reduce_sum(w * w)
            )
        losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        averages = tf.train.ExponentialMovingAverage(0.5)
        update = averages.apply([*losses, tf.add_n(losses)])
        session.run(tf.global_variables_initializer())
        session.run(update)
        found = session.run([averages.average(loss) for loss in losses])

    assert found == [2.5, 2.5]


def test_they_are_gone_again_behind_the_program() -> None:
    private_names.install()
    private_names.uninstall()
    with tf.Graph().as_default():
        x = tf.constant(1.0)

    assert not hasattr(x.op, "_outputs")
    assert not hasattr(x, "_value_index")
    assert not hasattr(tf.Operation, "_inputs")
