"""Attention mechanisms: the share of each memory in the answer to a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def mask_of(values: Any, lengths: Any) -> Any:
    """Returns bools [batch, time] of `values`, False behind the end of each sequence; or None."""
    return None if lengths is None else tf.sequence_mask(lengths, tf.shape(values)[1])


def masked_memory(memory: Any, mask: Any) -> Any:
    """Returns a memory [batch, time, ...] with zeros where the mask [batch, time] is False."""
    if mask is None:
        return memory
    mask = tf.cast(mask, memory.dtype)
    ones = [1] * (memory.shape.ndims - 2)
    return memory * tf.reshape(mask, tf.concat([tf.shape(mask), ones], 0))


def masked_score(score: Any, mask: Any, value: Any) -> Any:
    """Returns scores [batch, time] with `value` where the mask [batch, time] is False."""
    if mask is None:
        return score
    return tf.where(mask, score, tf.fill(tf.shape(score), tf.cast(value, score.dtype)))


class AttentionMechanism:
    """The interface: `alignments_size`, `state_size`, and calls with (query, state)."""

    @property
    def alignments_size(self) -> Any:
        """The number of memories."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the state that the mechanism keeps from step to step."""
        raise NotImplementedError


class BaseAttentionMechanism(AttentionMechanism):
    """Keys and values of a memory [batch, time, depth]; a sequence's end is masked."""

    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        probability_fn: Callable[[Any, Any], Any],
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Args: probability_fn: a function from (scores, previous state) to alignments."""
        self._query_layer, self._memory_layer = query_layer, memory_layer
        with tf.name_scope(name, "BaseAttentionMechanismInit"):
            memory = tf.convert_to_tensor(memory, name="memory")
            if check_inner_dims_defined and not memory.shape[2:].is_fully_defined():
                raise MoxValueError(
                    f"Expected memory {memory.name} to have fully defined inner dims, but saw"
                    f" shape: {memory.shape}"
                )
            self._lengths = None
            if memory_sequence_length is not None:
                self._lengths = tf.cast(memory_sequence_length, tf.int32)
            self._values = masked_memory(memory, mask_of(memory, self._lengths))
            self._keys = self._values if memory_layer is None else memory_layer(self._values)
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            if score_mask_value is None:
                score_mask_value = -np.inf
            lengths, value = self._lengths, score_mask_value
            # Mechanisms of programs call this function on scores of their own.
            self._probability_fn = lambda score, state: probability_fn(
                masked_score(score, mask_of(score, lengths), value), state
            )
            self.dtype = tf.as_dtype(getattr(memory_layer, "dtype", None) or memory.dtype)
            self._batch_size = self._keys.shape[0] or tf.shape(self._keys)[0]
            self._alignments_size = self._keys.shape[1] or tf.shape(self._keys)[1]

    @property
    def memory_layer(self) -> Any:
        """The layer that makes the keys."""
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        """The layer that makes a query comparable with the keys."""
        return self._query_layer

    @property
    def values(self) -> Any:
        """The values, of shape [batch, time, depth]."""
        return self._values

    @property
    def keys(self) -> Any:
        """The keys, of shape [batch, time, units]."""
        return self._keys

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Returns the alignments before the first step: zeros [batch, time]."""
        zeros = tf.zeros([batch_size, self._alignments_size], dtype)
        size = self._alignments_size
        zeros.set_shape([None, size if isinstance(size, int) else None])
        return zeros

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns the state before the first step."""
        return self.initial_alignments(batch_size, dtype)


def softmax_of(
    probability_fn: Callable[[Any], Any] | None,
) -> Callable[[Any, Any], Any]:
    """Converts a function of scores to a function of scores and the previous state."""
    function = probability_fn or tf.nn.softmax
    return lambda score, _: function(score)


def dense(units: int, name: str, dtype: Any) -> Any:
    """Returns a layer without a bias."""
    return tf.layers.Dense(units, name=name, use_bias=False, dtype=dtype)


def luong_score(query: Any, keys: Any, scale: Any = None) -> Any:
    """Returns products [batch, time] of query [batch, units] and keys (Luong et al. 2015)."""
    if query.shape[-1] != keys.shape[-1]:
        raise MoxValueError(
            "Incompatible or unknown inner dimensions between query and keys. Query has units:"
            f" {query.shape[-1]}. Keys have units: {keys.shape[-1]}. Perhaps you need to set"
            " num_units to the keys' dimension."
        )
    score = tf.squeeze(tf.matmul(query[:, None], keys, transpose_b=True), [1])
    return score if scale is None else scale * score


def bahdanau_score(query: Any, keys: Any, units: int, normalize: bool) -> Any:
    """v tanh(query + keys) on the variable `attention_v` (Bahdanau et al. 2014): [batch, time].

    With `normalize`, v has the learned length `attention_g` and there is a bias `attention_b`
    (Salimans and Kingma 2016).
    """
    dtype = query.dtype
    v = tf.get_variable("attention_v", [units], dtype)
    sums = keys + query[:, None]
    if normalize:
        start = tf.constant_initializer(np.sqrt(1.0 / units), dtype)
        g = tf.get_variable("attention_g", [], dtype, initializer=start)
        b = tf.get_variable("attention_b", [units], dtype, initializer=tf.zeros_initializer())
        v, sums = g * v * tf.rsqrt(tf.reduce_sum(tf.square(v))), sums + b
    return tf.reduce_sum(v * tf.tanh(sums), [2])


class LuongAttention(BaseAttentionMechanism):
    """Multiplicative attention (Luong et al. 2015)."""

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        """Args: num_units: the size of keys and queries. scale: whether scores have a factor."""
        super().__init__(
            query_layer=None,
            memory_layer=dense(num_units, "memory_layer", dtype or tf.float32),
            memory=memory,
            probability_fn=softmax_of(probability_fn),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units, self._scale, self._name = num_units, scale, name

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Returns alignments [batch, time] for a query [batch, units], and again as the state."""
        with tf.variable_scope(None, "luong_attention", [query]):
            scale = None
            if self._scale:
                one = tf.ones_initializer()
                scale = tf.get_variable("attention_g", [], query.dtype, initializer=one)
            score = luong_score(query, self._keys, scale)
            alignments = self._probability_fn(score, state)
        return alignments, alignments


class BahdanauAttention(BaseAttentionMechanism):
    """Additive attention (Bahdanau et al. 2014)."""

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        """Args: num_units: the size of keys and queries. normalize: see `bahdanau_score`."""
        super().__init__(
            query_layer=dense(num_units, "query_layer", dtype or tf.float32),
            memory_layer=dense(num_units, "memory_layer", dtype or tf.float32),
            memory=memory,
            probability_fn=softmax_of(probability_fn),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units, self._normalize, self._name = num_units, normalize, name

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Returns alignments [batch, time] for a query [batch, depth], and again as the state."""
        with tf.variable_scope(None, "bahdanau_attention", [query]):
            processed = self.query_layer(query) if self.query_layer else query
            score = bahdanau_score(processed, self._keys, self._num_units, self._normalize)
            alignments = self._probability_fn(score, state)
        return alignments, alignments


def hardmax(logits: Any, name: str | None = None) -> Any:
    """Returns 1 at the largest value of each row, and 0 elsewhere."""
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits)
        depth = logits.shape[-1] or tf.shape(logits)[-1]
        return tf.one_hot(tf.argmax(logits, -1), depth, dtype=logits.dtype)
