"""Clips gradients before the update, after their mean over devices, workers and batches is taken.

Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks", arXiv
1211.5063, section 3.2: gradients whose global norm is above a limit are scaled down to the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import run_context
from moxing.engine.job.updating import Updating


def clipped(gradients: Sequence[Any], updating: Updating) -> list[Any]:
    """Returns the clipped gradients: first each value is limited, then the norm of all of them.

    Args:
        gradients: the gradients of one loss by its variables: tensors, or IndexedSlices, which stay
            sparse.
        updating: the limits.
    """
    if not updating.clips:
        return list(gradients)
    with tf.name_scope("clip_gradients"):
        found = [unique_rows(gradient) for gradient in gradients]
        if (most := updating.clip_value) is not None:
            found = [_with_values(g, tf.clip_by_value(_values(g), -most, most)) for g in found]
        if (limit := updating.clip_norm) is not None:
            factor = limit / tf.maximum(_norm(found), limit)
            found = [_with_values(g, _values(g) * tf.cast(factor, _values(g).dtype)) for g in found]
        return found


def global_norm(gradients: Sequence[Any]) -> tf.Tensor:
    """The Euclidean norm of all elements of all gradients, a float32 scalar."""
    with tf.name_scope("gradient_norm"):
        return _norm([unique_rows(gradient) for gradient in gradients])


def offer(updating: Updating) -> None:
    """Keeps the limits in the graph, for optimizers that make gradients of an update themselves."""
    run_context.current().updating = updating


def clipped_in_run(gradients: Sequence[Any]) -> list[Any]:
    """Returns the gradients clipped to the limits of the current run; unchanged outside a run."""
    found = run_context.current().updating
    return clipped(gradients, found) if isinstance(found, Updating) else list(gradients)


def clips_itself(optimizer: Any) -> bool:
    """Whether an optimizer changes the gradients that it gets, and clips the results itself."""
    return bool(getattr(optimizer, "clips_itself", False))


def _norm(gradients: Sequence[Any]) -> tf.Tensor:
    squares = [2.0 * tf.nn.l2_loss(tf.cast(_values(g), tf.float32)) for g in gradients]
    return tf.sqrt(tf.add_n(squares))


def _values(gradient: Any) -> tf.Tensor:
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


def _with_values(gradient: Any, values: tf.Tensor) -> Any:
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return values


def unique_rows(gradient: Any) -> Any:
    """Returns the gradient; a sparse gradient then has each row once, so that its norm is right."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, places = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, places, tf.shape(rows)[0])
    return tf.IndexedSlices(values, rows, gradient.dense_shape)
