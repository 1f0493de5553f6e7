"""`tf.contrib.crf`: linear-chain conditional random fields (Lafferty et al. 2001).

The score of a tag sequence y is the sum over t of inputs[t, y_t] + transitions[y_t, y_t+1]. Its
likelihood is exp(score) divided by the sum of exp(score) over all tag sequences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell

_IMPOSSIBLE = -1e30


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """Returns the log-likelihood of each tag sequence.

    Args:
        inputs: the scores of tags, of shape [batch, time, tags].
        tag_indices: the tags, integers of shape [batch, time].
        sequence_lengths: the lengths of the sequences, of shape [batch].
        transition_params: the scores of transitions, of shape [tags, tags]; None: a new variable
            `transitions`.

    Returns:
        The log-likelihoods, of shape [batch], and the transitions.
    """
    inputs = tf.convert_to_tensor(inputs)
    if transition_params is None:
        tags = inputs.shape[2]
        transition_params = tf.get_variable("transitions", [tags, tags], inputs.dtype)
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    norm = crf_log_norm(inputs, sequence_lengths, transition_params)
    return score - norm, transition_params


def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """Returns the unnormalized score of each tag sequence, of shape [batch]."""
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """Returns the sum of each sequence's tag scores, of shape [batch]."""
    inputs = tf.convert_to_tensor(inputs)
    tags = tf.shape(inputs)[2]
    chosen = tf.one_hot(tf.cast(tag_indices, tf.int32), tags, dtype=inputs.dtype)
    mask = _mask(sequence_lengths, tf.shape(inputs)[1], inputs.dtype)
    # Select instead of multiplying by 0: forbidden tags have infinite scores.
    scores = tf.reduce_sum(tf.where(tf.cast(chosen, tf.bool), inputs, tf.zeros_like(inputs)), 2)
    return tf.reduce_sum(tf.where(tf.cast(mask, tf.bool), scores, tf.zeros_like(scores)), 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Returns the sum of each sequence's transition scores, of shape [batch]."""
    transitions = tf.convert_to_tensor(transition_params)
    tag_indices = tf.cast(tag_indices, tf.int32)
    first, second = tag_indices[:, :-1], tag_indices[:, 1:]
    tags = tf.shape(transitions)[0]
    scores = tf.gather(tf.reshape(transitions, [-1]), first * tags + second)
    steps = tf.shape(tag_indices)[1] - 1
    mask = _mask(tf.cast(sequence_lengths, tf.int32) - 1, steps, transitions.dtype)
    return tf.reduce_sum(scores * mask, 1)


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Returns the log of the sum of exp(score) over all tag sequences, of shape [batch].

    Computed with the forward algorithm.
    """
    inputs = tf.convert_to_tensor(inputs)
    transitions = tf.convert_to_tensor(transition_params)[None]
    lengths = tf.cast(sequence_lengths, tf.int32)

    def step(alphas: Any, at: tuple[Any, Any]) -> Any:
        time, scores = at
        new = scores + tf.reduce_logsumexp(alphas[:, :, None] + transitions, 1)
        return _where(time < lengths, new, alphas)

    alphas = tf.foldl(step, _after_first(inputs), initializer=inputs[:, 0])
    norm = tf.reduce_logsumexp(alphas, 1)
    return tf.where(lengths <= 0, tf.zeros_like(norm), norm)


def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """Returns `crf_log_norm` over the tag sequences that a bitmap [batch, time, tags] allows."""
    allowed = crf_filtered_inputs(inputs, tag_bitmap)
    return crf_log_norm(allowed, sequence_lengths, transition_params)


def crf_filtered_inputs(inputs: Any, tag_bitmap: Any) -> Any:
    """Returns scores that allow only the tags of a bitmap [batch, time, tags]."""
    inputs = tf.convert_to_tensor(inputs)
    return tf.where(tf.cast(tag_bitmap, tf.bool), inputs, tf.fill(tf.shape(inputs), -np.inf))


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """Returns the best tags of one sequence, computed in NumPy.

    Args:
        score: the scores of tags, of shape [time, tags].
        transition_params: the scores of transitions, of shape [tags, tags].

    Returns:
        The tags, a list of `time` integers, and their total score.
    """
    score, transitions = np.asarray(score), np.asarray(transition_params)
    best, back = score[0], []
    for scores in score[1:]:
        candidates = best[:, None] + transitions
        back.append(candidates.argmax(0))
        best = scores + candidates.max(0)
    tags = [int(best.argmax())]
    for pointers in reversed(back):
        tags.append(int(pointers[tags[-1]]))
    return tags[::-1], best.max()


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """Returns the best tags of each sequence, by the Viterbi algorithm.

    Args:
        potentials: the scores of tags, of shape [batch, time, tags].
        transition_params: the scores of transitions, of shape [tags, tags].
        sequence_length: the lengths of the sequences, of shape [batch].

    Returns:
        The tags, int32 of shape [batch, time], 0 after a sequence's end; and their scores, of shape
        [batch].
    """
    potentials = tf.convert_to_tensor(potentials)
    transitions = tf.convert_to_tensor(transition_params)[None]
    lengths = tf.cast(sequence_length, tf.int32)
    shape = tf.shape(potentials)
    identity = tf.tile(tf.range(shape[2])[None], [shape[0], 1])

    def forward(before: tuple[Any, Any], at: tuple[Any, Any]) -> tuple[Any, Any]:
        time, scores = at
        candidates = before[0][:, :, None] + transitions
        inside = tf.logical_and(time > 0, time < lengths)
        best = _where(inside, scores + tf.reduce_max(candidates, 1), before[0])
        back = tf.argmax(candidates, 1, output_type=tf.int32)
        return best, _where(inside, back, identity)

    # The first step changes nothing. It keeps the scan from being empty, which loops can't stack.
    steps = (tf.range(shape[1]), tf.transpose(potentials, [1, 0, 2]))
    bests, backs = tf.scan(forward, steps, initializer=(potentials[:, 0], identity))
    best = bests[-1]
    last = tf.argmax(best, 1, output_type=tf.int32)

    def backward(tags: Any, pointers: Any) -> Any:
        return tf.gather(pointers, tags, batch_dims=1)

    before_last = tf.scan(backward, backs, initializer=last, reverse=True)
    tags = tf.transpose(tf.concat([before_last[1:], last[None]], 0))
    tags *= _mask(tf.maximum(lengths, 1), shape[1], tf.int32)
    tags.set_shape(potentials.shape[:2])
    return tags, tf.reduce_max(best, 1)


def crf_constrained_decode(
    potentials: Any, tag_bitmap: Any, transition_params: Any, sequence_length: Any
) -> tuple[Any, Any]:
    """Calls `crf_decode` with only the tags that a bitmap [batch, time, tags] allows."""
    potentials = tf.convert_to_tensor(potentials)
    allowed = tf.cast(tag_bitmap, tf.bool)
    low = tf.fill(tf.shape(potentials), tf.cast(_IMPOSSIBLE, potentials.dtype))
    return crf_decode(tf.where(allowed, potentials, low), transition_params, sequence_length)


class CrfForwardRnnCell(rnn_cell.RNNCell):
    """An RNN cell for a step of the forward algorithm; inputs and state are [batch, tags]."""

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transitions = tf.expand_dims(transition_params, 0)
        self._tags = int(transition_params.shape[0])

    @property
    def state_size(self) -> Any:
        return self._tags

    @property
    def output_size(self) -> Any:
        return self._tags

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Returns the new forward scores as both output and state."""
        new = inputs + tf.reduce_logsumexp(state[:, :, None] + self._transitions, 1)
        return new, new


def _after_first(inputs: Any) -> tuple[Any, Any]:
    """Returns the step indices from 1 on, and their scores of shape [time - 1, batch, tags]."""
    rest = tf.transpose(inputs, [1, 0, 2])[1:]
    return tf.range(1, tf.shape(inputs)[1]), rest


def _mask(lengths: Any, steps: Any, dtype: Any) -> Any:
    return tf.sequence_mask(tf.maximum(tf.cast(lengths, tf.int32), 0), steps, dtype=dtype)


def _where(rows: Any, yes: Any, no: Any) -> Any:
    """Selects rows of `yes` where a condition [batch] is true, and rows of `no` elsewhere."""
    return tf.where(rows, yes, no)
