"""Reads sequences from a tree of words, each of which continues a beam of the previous step."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def gather_tree(
    step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: Any = None
) -> Any:
    """Returns the whole sequence of each beam.

    Args:
        step_ids: int32 [time, batch, beams].
        parent_ids: the beam of the previous step that each beam continues, int32 of shape
            [time, batch, beams].
        max_sequence_lengths: int32 [batch]; all later tokens are the end token.
        end_token: the id of the end token, a scalar; only end tokens follow a sequence's first one.
        name: the name of the operations.

    Returns:
        int32 [time, batch, beams].
    """
    with tf.name_scope(name, "GatherTree", [step_ids, parent_ids]):
        step_ids, parent_ids = tf.convert_to_tensor(step_ids), tf.convert_to_tensor(parent_ids)
        end = tf.cast(end_token, step_ids.dtype)
        places = _places(parent_ids, max_sequence_lengths)
        words = tf.gather(step_ids, places, batch_dims=2)
        inside = _inside(parent_ids, max_sequence_lengths)
        words = tf.where(inside, words, tf.fill(tf.shape(words), end))
        ended = tf.cumsum(tf.cast(tf.equal(words, end), tf.int32), exclusive=True)
        result = tf.where(ended > 0, tf.fill(tf.shape(words), end), words)
        result.set_shape(step_ids.shape)
        return result


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Any:
    """Returns the values at each step of every beam's whole sequence.

    Args:
        t: [time, batch, beams, ...], or with batch and beams in one dimension.
        parent_ids: int32 [time, batch, beams].
        sequence_length: int [batch, beams].

    Returns:
        A tensor like `t`.
    """
    t, parent_ids = tf.convert_to_tensor(t), tf.convert_to_tensor(parent_ids)
    shape, head = tf.shape(t), tf.shape(parent_ids)
    lengths = tf.cast(tf.reduce_max(sequence_length, 1), tf.int32)
    places = _places(parent_ids, lengths)
    rest = tf.size(t) // tf.maximum(tf.reduce_prod(head), 1)
    parts = tf.reshape(t, tf.concat([head, [rest]], 0))
    found = tf.gather(parts, places, batch_dims=2)
    steps = tf.sequence_mask(tf.cast(sequence_length, tf.int32), head[0], found.dtype)
    found *= tf.transpose(steps, [2, 0, 1])[..., None]
    found = tf.reshape(found, shape)
    found.set_shape(t.shape)
    return found


def _inside(parent_ids: Any, lengths: Any) -> Any:
    time = tf.range(tf.shape(parent_ids)[0])
    rows = time[:, None] < tf.cast(lengths, tf.int32)[None]
    return tf.tile(rows[..., None], [1, 1, tf.shape(parent_ids)[2]])


def _places(parent_ids: Any, lengths: Any) -> Any:
    """Returns the beam of each final sequence at each step, of shape [time, batch, beams]."""
    shape = tf.shape(parent_ids)
    own = tf.tile(tf.range(shape[2])[None], [shape[1], 1])
    lengths = tf.cast(lengths, tf.int32)

    def back(after: tuple[Any, Any], at: tuple[Any, Any]) -> tuple[Any, Any]:
        time, parents = at
        here = after[1]
        before = tf.gather(parents, here, batch_dims=1)
        return here, tf.where(time < lengths, before, here)

    times = tf.range(shape[0])
    here, _ = tf.scan(back, (times, parent_ids), initializer=(own, own), reverse=True)
    return here
