"""Attention that only moves forward (Raffel et al. 2017)."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.seq2seq.attention import (
    BaseAttentionMechanism,
    bahdanau_score,
    dense,
    luong_score,
)


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns the cumulative product of numbers in [0, 1], by exp(cumsum(log)) for its gradient."""
    with tf.name_scope(None, "SafeCumprod", [x]):
        x = tf.convert_to_tensor(x)
        tiny = 1e-45 if x.dtype == tf.float64 else 1.1754944e-38
        return tf.exp(tf.cumsum(tf.log(tf.clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Any:
    """Returns a step's alignments from the probabilities that reading stops at each memory.

    Args:
        p_choose_i: the probabilities, of shape [batch, time].
        previous_attention: the alignments of the previous step, of shape [batch, time].
        mode: "recursive" (exact, slow), "parallel" (equation 13 of the paper) or "hard" (0 or 1).

    Returns:
        [batch, time].

    Raises:
        MoxValueError: another mode.
    """
    p, previous = tf.convert_to_tensor(p_choose_i), tf.convert_to_tensor(previous_attention)
    if mode == "recursive":
        shifted = tf.concat([tf.ones_like(p[:, :1]), 1 - p[:, :-1]], 1)
        columns = (tf.transpose(shifted), tf.transpose(previous))

        def reach(before: Any, at: tuple[Any, Any]) -> Any:
            return at[0] * before + at[1]

        q = tf.scan(reach, columns, initializer=tf.zeros_like(p[:, 0]))
        return p * tf.transpose(q)
    if mode == "parallel":
        ahead = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * ahead * tf.cumsum(previous / tf.clip_by_value(ahead, 1e-10, 1.0), axis=1)
    if mode == "hard":
        # The first chosen memory at or after the previous step's memory.
        possible = p * tf.cumsum(previous, axis=1)
        return possible * tf.cumprod(1 - possible, axis=1, exclusive=True)
    raise MoxValueError(f"mode must be 'recursive', 'parallel', or 'hard', not {mode!r}.")


def chosen(noise: float, mode: str, seed: int | None, score: Any, previous: Any) -> Any:
    """Returns a step's alignments by scores [batch, time] of where reading stops."""
    if noise > 0:
        score += noise * tf.random_normal(tf.shape(score), dtype=score.dtype, seed=seed)
    p = tf.cast(score > 0, score.dtype) if mode == "hard" else tf.sigmoid(score)
    return monotonic_attention(p, previous, mode)


class MonotonicAttentionMechanism(BaseAttentionMechanism):
    """Base class of both mechanisms: attention starts at the first memory."""

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Returns 1 at the first memory, and 0 elsewhere."""
        return tf.one_hot(tf.zeros([batch_size], tf.int32), self._alignments_size, dtype=dtype)

    def _bias(self, dtype: Any, start: float) -> Any:
        initial = tf.constant_initializer(start, dtype)
        return tf.get_variable("attention_score_bias", [], dtype, initializer=initial)


class BahdanauMonotonicAttention(MonotonicAttentionMechanism):
    """Monotonic attention with additive scores."""

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=dense(num_units, "query_layer", dtype or tf.float32),
            memory_layer=dense(num_units, "memory_layer", dtype or tf.float32),
            memory=memory,
            probability_fn=functools.partial(chosen, sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units, self._normalize = num_units, normalize
        self._score_bias_init = score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Returns alignments [batch, time] for a query [batch, depth], and again as the state."""
        with tf.variable_scope(None, "bahdanau_monotonic_attention", [query]):
            processed = self.query_layer(query) if self.query_layer else query
            score = bahdanau_score(processed, self._keys, self._num_units, self._normalize)
            score += self._bias(query.dtype, self._score_bias_init)
            alignments = self._probability_fn(score, state)
        return alignments, alignments


class LuongMonotonicAttention(MonotonicAttentionMechanism):
    """Monotonic attention with multiplicative scores."""

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=None,
            memory_layer=dense(num_units, "memory_layer", dtype or tf.float32),
            memory=memory,
            probability_fn=functools.partial(chosen, sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._scale, self._score_bias_init = scale, score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Returns alignments [batch, time] for a query [batch, units], and again as the state."""
        with tf.variable_scope(None, "luong_monotonic_attention", [query]):
            scale = None
            if self._scale:
                one = tf.ones_initializer()
                scale = tf.get_variable("attention_g", [], query.dtype, initializer=one)
            score = luong_score(query, self._keys, scale)
            score += self._bias(query.dtype, self._score_bias_init)
            alignments = self._probability_fn(score, state)
        return alignments, alignments
