"""`tf.contrib.nn`, `contrib.layers.embed_sequence` and other small functions."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tf_slim.ops.variables import model_variable

from moxing.errors import MoxValueError
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
    "bow_encoder",
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
    "embed_sequence",
    "embedding_lookup_unique",
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


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> Any:
    """Returns the mean [batch, embed_dim] of the vectors of each row's ids.

    Args:
        ids: [batch, length], integers, or a sparse tensor of that shape.
        vocab_size, embed_dim: the number of ids and the size of the vectors.
        sparse_lookup: whether the id 0 stands for no id, in a tensor that is not sparse; a row
            without an id has the vector of 0.
        initializer, regularizer, trainable: of the variable `embeddings`.
        scope, reuse: of the variable scope, `bow_encoder` by default.

    Raises:
        MoxValueError: a size is missing, or `ids` is sparse and `sparse_lookup` is false.
    """
    if not vocab_size or not embed_dim:
        raise MoxValueError("bow_encoder needs vocab_size and embed_dim.")
    is_sparse = isinstance(ids, tf.SparseTensor)
    if is_sparse and not sparse_lookup:
        raise MoxValueError("bow_encoder(sparse_lookup=False) takes ids that are not sparse.")
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if not sparse_lookup:
            return tf.reduce_mean(tf.nn.embedding_lookup(embeddings, ids), axis=1)
        given = ids if is_sparse else tf.sparse.from_dense(ids)
        return tf.nn.safe_embedding_lookup_sparse(
            [embeddings], given, combiner="mean", default_id=0
        )


def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> Any:
    """Returns the rows of `ids`, of any shape, and looks up equal ids together.

    Args:
        params: a variable, a list of them, or a partitioned variable.
        ids: integers.
        partition_strategy: "mod" or "div", the share of ids of each of several `params`.
        name: of the name scope.
    """
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        once, places = tf.unique(tf.reshape(ids, [-1]))
        rows = tf.nn.embedding_lookup(params, once, partition_strategy)
        shape = tf.concat([tf.shape(ids), tf.shape(rows)[1:]], 0)
        result = tf.reshape(tf.gather(rows, places), shape)
        result.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return result
