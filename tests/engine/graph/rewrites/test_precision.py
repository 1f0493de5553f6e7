"""16-bit computation keeps 32-bit variables; loss scales change no result but the overflow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from spreads import alone

from moxing.engine.graph.rewrites import precision
from moxing.engine.job.job import Loss
from moxing.engine.model.train_op import Rules, train_op


@pytest.fixture(autouse=True)
def built() -> Any:
    with tf.Graph().as_default() as current, tf.variable_scope("", use_resource=True):
        yield current


def sgd() -> tf.train.Optimizer:
    return tf.train.GradientDescentOptimizer(0.1)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_variables_are_stored_wide_and_read_narrow(dtype: tf.DType) -> None:
    with precision.stored_as(tf.float32):
        narrow = tf.get_variable("a", [2], dtype)
        count = tf.get_variable("n", [], tf.int32, initializer=tf.zeros_initializer())
        wide = tf.get_variable("b", initializer=tf.constant(1.0, dtype))
    assert narrow.dtype == dtype
    assert wide.dtype == dtype
    assert count.dtype.base_dtype == tf.int32
    stored = {v.op.name: v.dtype.base_dtype for v in tf.global_variables()}
    assert stored == {"a": tf.float32, "n": tf.int32, "b": tf.float32}


def test_only_float32_inputs_are_cast() -> None:
    image, label, wide = tf.zeros([2]), tf.zeros([2], tf.int64), tf.zeros([2], tf.float64)
    cast = precision.cast_inputs([image, label, wide], tf.float16)
    assert [t.dtype for t in cast] == [tf.float16, tf.int64, tf.float64]


@pytest.mark.parametrize(("scale", "dynamic"), [(1024.0, False), (1024.0, True)])
def test_a_scale_does_not_change_the_step(scale: float, dynamic: bool) -> None:
    w = tf.get_variable("w", initializer=[2.0, -1.0])
    rows = tf.get_variable("rows", initializer=[[1.0], [2.0], [3.0]])
    loss = tf.reduce_sum(tf.square(w)) + tf.reduce_sum(tf.gather(rows, [0, 2]))
    count = tf.train.get_or_create_global_step()
    scaling = precision.make_loss_scale(scale, dynamic)
    op = train_op(alone(Loss(loss)), [sgd], [w, rows], count, Rules(scaling))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(op)
        np.testing.assert_allclose(session.run(w), [1.6, -0.8], rtol=1e-6)
        np.testing.assert_allclose(session.run(rows)[:, 0], [0.9, 2.0, 2.9], rtol=1e-6)
        assert session.run(count) == 1


def test_a_fixed_scale_rescues_small_gradients() -> None:
    def moved(scale: float) -> float:
        with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
            w = tf.get_variable("w", initializer=1.0)
            small = tf.cast(w, tf.float16) * tf.constant(1e-4, tf.float16)
            loss = tf.cast(small, tf.float32) * 1e-4
            op = train_op(
                alone(Loss(loss)),
                [lambda: tf.train.GradientDescentOptimizer(1e7)],
                [w],
                tf.train.get_or_create_global_step(),
                Rules(precision.make_loss_scale(scale, False)),
            )
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(op)
                return 1.0 - float(session.run(w))

    # 1e-8 is below float16's smallest number, so the gradient is lost without a scale.
    assert moved(1.0) == 0.0
    assert moved(1024.0) == pytest.approx(0.1, rel=0.01)


def test_an_overflow_is_left_out_counted_and_halves_the_scale() -> None:
    w = tf.get_variable("w", initializer=1.0)
    factor = tf.placeholder(tf.float32, [])
    count = tf.train.get_or_create_global_step()
    scale = precision.make_loss_scale(8.0, True)
    op = train_op(alone(Loss(w * factor)), [sgd], [w], count, Rules(scale))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(op, {factor: 1.0})
        session.run(op, {factor: np.inf})
        session.run(op, {factor: 1.0})
        assert session.run(w) == pytest.approx(0.8)
        assert session.run([scale.value, scale.steps, scale.skipped, count]) == [4.0, 1, 1, 3]


def test_an_overflow_leaves_batch_norm_statistics_alone() -> None:
    mean = tf.get_variable("mean", initializer=1.0, trainable=False)
    w = tf.get_variable("w", initializer=1.0)
    fed = tf.placeholder(tf.float32, [])
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, mean.assign_sub(0.5 * (mean - fed)))
    count = tf.train.get_or_create_global_step()
    scale = precision.make_loss_scale(8.0, True)
    op = train_op(alone(Loss(w * fed)), [sgd], [w], count, Rules(scale))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(op, {fed: 3.0})
        assert session.run(mean) == 2.0
        session.run(op, {fed: np.inf})
        assert session.run(mean) == 2.0
        session.run(op, {fed: 4.0})
        assert session.run(mean) == 3.0


def test_the_scale_doubles_after_enough_good_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_STEPS_TO_GROW", 3)
    w = tf.get_variable("w", initializer=1.0)
    scale = precision.make_loss_scale(8.0, True)
    op = train_op(alone(Loss(w)), [sgd], [w], tf.train.get_or_create_global_step(), Rules(scale))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        scales = []
        for _ in range(7):
            session.run(op)
            scales.append(float(session.run(scale.value)))
    assert scales == [8, 8, 16, 16, 16, 32, 32]


def _hand_made(x: tf.Tensor) -> list[tf.Tensor]:
    """Uses of variables that a program makes itself, with 16-bit values on either side."""
    w = tf.get_variable("w", [3, 3], initializer=tf.ones_initializer())
    b = tf.Variable([1.0, 2.0, 3.0], name="b")
    with tf.variable_scope("bn"):
        mean = tf.get_variable("mean", [3], initializer=tf.zeros_initializer(), trainable=False)
    kernel = tf.reshape(w, [1, 1, 3, 3])
    images = tf.reshape(x, [1, 1, -1, 3])
    return [
        tf.matmul(x, w),
        tf.matmul(w, x, transpose_b=True),
        x @ w + b,
        b * x,
        tf.nn.bias_add(x, b),
        tf.nn.xw_plus_b(x, w, b),
        tf.nn.conv2d(images, tf.reshape(kernel, [1, 1, 3, 3]), 1, "SAME"),
        tf.einsum("ij,jk->ik", x, w),
        tf.concat([x, w], 0),
        tf.where(x > 1.0, x, tf.zeros_like(x)) - mean,
        tf.nn.batch_normalization(x, mean, b, b, w[0], 1e-3),
    ]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_hand_made_variables_are_cast_where_they_are_read(dtype: tf.DType) -> None:
    data = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        right = _hand_made(tf.constant(data))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            expected = session.run(right)
    with precision.stored_as(tf.float32):
        made = _hand_made(tf.constant(data, dtype))
        loss = tf.add_n([tf.reduce_sum(tf.cast(item, tf.float32)) for item in made])
        variables = tf.global_variables()
        gradients = tf.gradients(loss, tf.trainable_variables())
    assert {v.dtype.base_dtype for v in variables} == {tf.float32}
    assert {g.dtype for g in gradients} == {tf.float32}
    # TensorFlow itself multiplies matrices of bfloat16 and float32, to float32.
    wide = [item for item in made if item.dtype != dtype]
    assert len(wide) <= (5 if dtype == tf.bfloat16 else 0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for ours, theirs in zip(session.run(made), expected, strict=True):
            np.testing.assert_allclose(ours.astype(np.float32), theirs, rtol=2e-2)


def test_predictions_of_16_bits_meet_labels_and_penalties_of_32() -> None:
    with precision.stored_as(tf.float32):
        labels, predictions = tf.constant([70000.0, 1.0]), tf.constant([1.0, 2.0], tf.float16)
        penalty = tf.constant(0.5)
        loss = tf.reduce_mean(tf.abs(labels - predictions)) + penalty
        total = tf.add_n([tf.reduce_sum(predictions), penalty])
    assert (loss.dtype, total.dtype) == (tf.float32, tf.float32)
    with tf.Session() as session:
        assert session.run([loss, total]) == [35000.5, 3.5]


def test_other_graphs_stay_as_strict_as_tensorflow_is() -> None:
    with precision.stored_as(tf.float32):
        pass
    with tf.Graph().as_default(), pytest.raises((TypeError, ValueError)):
        tf.constant(1.0, tf.float16) + tf.constant(1.0)
    with pytest.raises((TypeError, ValueError)):
        tf.constant(1.0, tf.float16) + tf.constant(1)
