"""Gradients are clipped as the mean over all devices, in whatever form they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites.precision import LossScale, make_loss_scale
from moxing.engine.job.job import Loss, Model
from moxing.engine.job.updating import Updating
from moxing.engine.model import clipping
from moxing.engine.model.train_op import Rules, train_op
from moxing.engine.parallel.reduce import Spread
from moxing.engine.parallel.replicas import Replica
from moxing.tensorflow.optimizer import get_optimizer_wrapper_fn

ROWS = np.array([[1.0, -2.0], [0.5, 4.0], [0.0, 0.0]], np.float32)


def sgd() -> tf.train.Optimizer:
    return tf.train.GradientDescentOptimizer(1.0)


def batched() -> tf.train.Optimizer:
    return get_optimizer_wrapper_fn("batch_gradients", sgd(), num_batches=2)()


def sparse(values: Any, indices: list[int]) -> tf.IndexedSlices:
    return tf.IndexedSlices(tf.constant(values, tf.float32), tf.constant(indices), [3, 2])


def evaluated(build: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


@pytest.mark.parametrize("limit", [0.5, 3.0, 100.0])
def test_the_norm_is_that_of_tensorflow(limit: float) -> None:
    gradients = [ROWS, np.array([3.0, -1.0], np.float32)]

    def build() -> Any:
        tensors = [tf.constant(gradient) for gradient in gradients]
        own = clipping.clipped(tensors, Updating(clip_norm=limit))
        theirs, norm = tf.clip_by_global_norm(tensors, limit)
        return own, theirs, clipping.global_norm(tensors), norm

    own, theirs, own_norm, norm = evaluated(build)
    for one, other in zip(own, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_allclose(own_norm, norm, rtol=1e-6)


def test_a_row_that_comes_twice_is_judged_as_one() -> None:
    """Its parts cancel: neither limit may see them apart."""
    parts = [[5.0, 1.0], [-4.5, 1.0], [0.25, 0.0]]
    whole = np.array([[0.5, 2.0], [0.0, 0.0], [0.25, 0.0]], np.float32)

    def build() -> Any:
        given = sparse(parts, [0, 0, 2])
        limits = [Updating(clip_norm=1.0), Updating(clip_value=0.4), Updating(1.0, 0.4)]
        found = [clipping.clipped([given], limit)[0] for limit in limits]
        assert all(isinstance(one, tf.IndexedSlices) for one in found)
        dense = [clipping.clipped([tf.constant(whole)], limit)[0] for limit in limits]
        return [tf.convert_to_tensor(one) for one in found], dense

    for one, other in zip(*evaluated(build), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def trained(
    samples: list[list[float]],
    updating: Updating,
    make: Callable[[], tf.train.Optimizer] = sgd,
    scale: Callable[[], LossScale] = LossScale,
    steps: int = 1,
) -> list[Any]:
    """Weights after steps on as many devices as there are lists of samples, all of one size."""
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        w = tf.get_variable("w", initializer=[1.0, -1.0])
        rows = tf.get_variable("rows", initializer=ROWS)
        count = tf.train.get_or_create_global_step()
        parts = []
        for index, own in enumerate(samples):
            x = tf.constant(own)
            picked = tf.gather(rows, tf.cast(x, tf.int32) % 3)
            loss = tf.reduce_mean(x * x * tf.reduce_sum(w * w)) + tf.reduce_mean(
                x[:, None] * picked
            )
            parts.append(Replica(index, "", Model((Loss(loss),))))
        spread = Spread(parts)
        op = train_op(spread, [make], [w, rows], count, Rules(scale(), updating))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                session.run(op)
            return session.run([w, rows])


def same(one: list[Any], other: list[Any]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


LIMITS = [Updating(clip_norm=0.7), Updating(clip_value=0.3), Updating(0.7, 0.3)]


@pytest.mark.parametrize("updating", LIMITS)
def test_devices_do_not_matter(updating: Updating) -> None:
    together = trained([[1.0, 2.0, 3.0, 4.0]], updating)
    same(trained([[1.0, 2.0], [3.0, 4.0]], updating), together)
    moved = np.concatenate(
        [(w - start).ravel() for w, start in zip(together, ([1.0, -1.0], ROWS), strict=True)]
    )
    if updating.clip_norm is not None:
        assert np.linalg.norm(moved) <= 0.7001
    if updating.clip_value is not None:
        assert np.abs(moved).max() <= 0.3001
    with pytest.raises(AssertionError):
        same(trained([[1.0, 2.0, 3.0, 4.0]], Updating()), together)


@pytest.mark.parametrize("updating", LIMITS[:2])
def test_a_loss_scale_does_not_matter(updating: Updating) -> None:
    plain = trained([[1.0, 2.0]], updating)
    same(trained([[1.0, 2.0]], updating, scale=lambda: LossScale(512.0)), plain)
    same(trained([[1.0, 2.0]], updating, scale=lambda: make_loss_scale(512.0, True)), plain)


@pytest.mark.parametrize("updating", LIMITS[:2])
def test_accumulated_gradients_are_clipped_as_their_average(updating: Updating) -> None:
    same(trained([[2.0, 3.0]], updating, batched, steps=2), trained([[2.0, 3.0]], updating))


def test_an_optimizer_that_clips_nothing_by_itself_gets_clipped_gradients() -> None:
    def once() -> tf.train.Optimizer:
        return get_optimizer_wrapper_fn("batch_gradients", sgd(), num_batches=1)()

    updating = Updating(clip_norm=0.1)
    same(trained([[2.0]], updating, once), trained([[2.0]], updating))
