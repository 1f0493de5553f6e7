"""`tf.contrib.sparsemax`: probabilities of which many are zero (Martins and Astudillo 2016)."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

__all__ = ["sparsemax", "sparsemax_loss"]


def sparsemax(logits: Any, name: str | None = None) -> Any:
    """Returns the point of the simplex that is nearest to each row.

    Args:
        logits: floating point, [batch, classes].
        name: of the name scope.

    Returns:
        Probabilities of the shape and type of `logits`; nan in rows without a finite number.
    """
    with tf.name_scope(name, "sparsemax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        rows, classes = tf.unstack(tf.shape(logits))
        ordered = tf.nn.top_k(logits, k=classes)[0]
        sums = tf.cumsum(ordered, axis=1)
        counts = tf.cast(tf.range(1, classes + 1), logits.dtype)
        # The largest numbers, as long as 1 + k z_k is more than the sum of the first k.
        kept = tf.reduce_sum(tf.cast(1 + counts * ordered > sums, tf.int32), axis=1)
        last = tf.stack([tf.range(rows), tf.maximum(kept, 1) - 1], axis=1)
        threshold = (tf.gather_nd(sums, last) - 1) / tf.cast(kept, logits.dtype)
        result = tf.maximum(logits - threshold[:, tf.newaxis], 0)
        lost = tf.logical_or(tf.equal(kept, 0), tf.is_nan(sums[:, -1]))
        return tf.where(
            lost, tf.fill(tf.shape(logits), tf.cast(float("nan"), logits.dtype)), result
        )


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Any:
    """Returns each row's loss, whose gradient by `logits` is `sparsemax - labels`.

    Args:
        logits: [batch, classes].
        sparsemax: `sparsemax(logits)`.
        labels: the true probabilities, of the same shape.
        name: of the name scope.
    """
    with tf.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits = tf.convert_to_tensor(logits, name="logits")
        sparsemax = tf.convert_to_tensor(sparsemax, name="sparsemax")
        labels = tf.convert_to_tensor(labels, name="labels")
        # Classes without probability may have logits of -inf, of which nothing is to be left.
        seen = tf.logical_or(sparsemax > 0, tf.is_nan(sparsemax))
        support = tf.where(seen, sparsemax * (logits - 0.5 * sparsemax), tf.zeros_like(sparsemax))
        nothing = tf.logical_and(tf.equal(labels, 0), tf.is_inf(logits))
        truth = tf.where(nothing, tf.zeros_like(logits), labels * (0.5 * labels - logits))
        return tf.reduce_sum(support + truth, axis=1)
