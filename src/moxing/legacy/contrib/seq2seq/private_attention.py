"""Functions of TensorFlow's file attention_wrapper.py by the names that programs import."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.seq2seq import attention, monotonic


def _prepare_memory(
    memory: Any,
    memory_sequence_length: Any = None,
    memory_mask: Any = None,
    check_inner_dims_defined: bool = True,
) -> Any:
    """Returns a memory, or a structure of memories, with zeros behind the end of each sequence.

    Args:
        memory: a tensor [batch, time, ...], or a structure of such tensors.
        memory_sequence_length: the length of each sequence.
        memory_mask: True at the memories that count, [batch, time]; check_inner_dims_defined up to
            TensorFlow 1.14.
        check_inner_dims_defined: whether the sizes behind `time` must be known.

    Raises:
        MoxValueError: a size is not known.
    """
    if isinstance(memory_mask, bool):
        memory_mask, check_inner_dims_defined = None, memory_mask
    lengths = None
    if memory_sequence_length is not None:
        lengths = tf.cast(memory_sequence_length, tf.int32)

    def prepared(each: Any) -> Any:
        each = tf.convert_to_tensor(each, name="memory")
        if check_inner_dims_defined and not each.shape[2:].is_fully_defined():
            raise MoxValueError(
                f"Expected memory {each.name} to have fully defined inner dims, but saw"
                f" shape: {each.shape}"
            )
        mask = attention.mask_of(each, lengths) if memory_mask is None else memory_mask
        return attention.masked_memory(each, mask)

    return tf.nest.map_structure(prepared, memory)


def _maybe_mask_score(
    score: Any, memory_sequence_length: Any = None, *given: Any, **named: Any
) -> Any:
    """Returns scores [batch, time] with score_mask_value behind the end of each sequence.

    Args:
        score: the scores.
        memory_sequence_length: the length of each sequence; None changes nothing.
        given: score_mask_value, or (since TensorFlow 1.15) memory_mask and score_mask_value.
        named: the same by their names.
    """
    values = dict(zip(("memory_mask", "score_mask_value"), given, strict=False), **named)
    kind = getattr(given[0], "dtype", None) if len(given) == 1 else tf.bool
    if kind is None or tf.as_dtype(kind) != tf.bool:
        values = {"score_mask_value": given[0], **named}
    value = values.get("score_mask_value")
    value = -np.inf if value is None else value
    mask = values.get("memory_mask")
    mask = attention.mask_of(score, memory_sequence_length) if mask is None else mask
    return attention.masked_score(score, mask, value)


def _luong_score(query: Any, keys: Any, scale: Any) -> Any:
    """Returns scores [batch, time]; `scale` is whether the variable `attention_g` scales them."""
    if scale is None or isinstance(scale, bool):
        one = tf.ones_initializer()
        scale = tf.get_variable("attention_g", [], query.dtype, initializer=one) if scale else None
    return attention.luong_score(query, keys, scale)


def _bahdanau_score(
    processed_query: Any,
    keys: Any,
    attention_v: Any = None,
    attention_g: Any = None,
    attention_b: Any = None,
    normalize: bool = False,
) -> Any:
    """Returns scores [batch, time] of a query and keys.

    Args:
        processed_query: the query [batch, units].
        keys: the keys [batch, time, units].
        attention_v, attention_g, attention_b: the weights, as of TensorFlow 1.15. Before, the third
            argument was `normalize`, and the function made the weights.
        normalize: whether the weights have the learned length `attention_g`, and there is a bias.
    """
    if attention_v is None or isinstance(attention_v, bool):
        return attention.bahdanau_score(
            processed_query, keys, int(keys.shape[2]), bool(attention_v) or normalize
        )
    sums = keys + processed_query[:, None]
    if attention_g is not None and attention_b is not None:
        length = tf.rsqrt(tf.reduce_sum(tf.square(attention_v)))
        attention_v, sums = attention_g * attention_v * length, sums + attention_b
    return tf.reduce_sum(attention_v * tf.tanh(sums), [2])


def _monotonic_probability_fn(
    score: Any, previous_alignments: Any, sigmoid_noise: float, mode: str, seed: int | None = None
) -> Any:
    """Returns the alignments of monotonic attention for scores [batch, time]."""
    return monotonic.chosen(sigmoid_noise, mode, seed, score, previous_alignments)
