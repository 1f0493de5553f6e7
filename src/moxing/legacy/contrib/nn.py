"""`tf.contrib.nn`, `contrib.layers.embed_sequence` and other small functions."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tf_slim.ops.variables import model_variable

from moxing.legacy.names.before_1_0 import (
    sigmoid_cross_entropy_with_logits as deprecated_flipped_sigmoid_cross_entropy_with_logits,
)
from moxing.legacy.names.before_1_0 import (
    softmax_cross_entropy_with_logits as deprecated_flipped_softmax_cross_entropy_with_logits,
)
from moxing.legacy.names.before_1_0 import (
    sparse_softmax_cross_entropy_with_logits as _sparse_softmax,
)

__all__ = [
    "alpha_dropout",
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
    "embed_sequence",
    "scaled_softplus",
]

deprecated_flipped_sparse_softmax_cross_entropy_with_logits = _sparse_softmax
# The limit of SELU for large negative numbers: -scale * alpha (Klambauer et al. 2017).
_SELU_LOWEST = -1.7580993408473766


def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None, name: Any = None
) -> Any:
    """Applies dropout that preserves mean 0 and variance 1 (Klambauer et al. 2017, section 3)."""
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x)
        keep = tf.cast(keep_prob, x.dtype)
        shape = tf.shape(x) if noise_shape is None else noise_shape
        kept = tf.floor(keep + tf.random_uniform(shape, seed=seed, dtype=x.dtype))
        a = tf.pow(keep + _SELU_LOWEST**2 * keep * (1 - keep), -0.5)
        b = -a * _SELU_LOWEST * (1 - keep)
        return a * (x * kept + _SELU_LOWEST * (1 - kept)) + b


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: Any = None) -> Any:
    """Returns alpha * softplus(x / alpha), limited to at most `clip`."""
    with tf.name_scope(name, "scaled_softplus", [x, alpha]):
        y = alpha * tf.nn.softplus(x / alpha)
        return y if clip is None else tf.minimum(y, clip)


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> Any:
    """Returns the vectors [batch, time, embed_dim] of ids [batch, time].

    Args:
        ids: integer ids.
        vocab_size: the number of ids.
        embed_dim: the size of the vectors.
        unique: not used: gradients of equal ids are added in either case.
        initializer: the initializer of the variable `embeddings`; the scope's by default.
        regularizer: the regularizer of the variable.
        trainable: whether the variable is trained.
        scope: the variable scope; `EmbedSequence` by default.
        reuse: whether an existing variable is reused.
    """
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim] if vocab_size else None,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        return tf.nn.embedding_lookup(embeddings, ids)
