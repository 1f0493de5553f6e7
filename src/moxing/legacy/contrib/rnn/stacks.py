"""Stacks of bidirectional RNNs: each layer reads both directions of the layer below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


def stack_bidirectional_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Builds stacked layers of `tf.nn.static_bidirectional_rnn`.

    Args:
        cells_fw: a forward cell for each layer.
        cells_bw: a backward cell for each layer.
        inputs: a list of tensors [batch, n].
        initial_states_fw: the forward cell's initial state for each layer.
        initial_states_bw: the backward cell's initial state for each layer.
        dtype: the dtype of initial states that are not given, which are zeros.
        sequence_length: the lengths of the sequences, of shape [batch].
        scope: the variable scope; `stack_bidirectional_rnn` by default.

    Returns:
        The last layer's outputs, a list of [batch, forward + backward], and each layer's last
        states of both directions.
    """
    starts = _starts(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states: list[tuple[Any, Any]] = []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for index, (forward, backward, first_fw, first_bw) in enumerate(starts):
            with tf.variable_scope(f"cell_{index}"):
                inputs, last_fw, last_bw = tf.nn.static_bidirectional_rnn(
                    forward,
                    backward,
                    inputs,
                    initial_state_fw=first_fw,
                    initial_state_bw=first_bw,
                    sequence_length=sequence_length,
                    dtype=dtype,
                )
            states.append((last_fw, last_bw))
    return inputs, tuple(fw for fw, _ in states), tuple(bw for _, bw in states)


def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Builds stacked layers of `tf.nn.bidirectional_dynamic_rnn`.

    Args:
        cells_fw: a forward cell for each layer.
        cells_bw: a backward cell for each layer.
        inputs: a tensor [batch, time, n], or [time, batch, n] with time_major.
        initial_states_fw: the forward cell's initial state for each layer.
        initial_states_bw: the backward cell's initial state for each layer.
        dtype: the dtype of initial states that are not given, which are zeros.
        sequence_length: the lengths of the sequences, of shape [batch].
        parallel_iterations: the number of iterations of the loops that may run in parallel.
        time_major: whether the first dimension is time.
        scope: the variable scope; `stack_bidirectional_rnn` by default.
        swap_memory: whether a GPU's tensors may wait in the host's memory.

    Returns:
        The last layer's outputs, both directions concatenated, and each layer's last states
        of both directions.
    """
    starts = _starts(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states: list[tuple[Any, Any]] = []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for index, (forward, backward, first_fw, first_bw) in enumerate(starts):
            with tf.variable_scope(f"cell_{index}"):
                outputs, last = tf.nn.bidirectional_dynamic_rnn(
                    forward,
                    backward,
                    inputs,
                    initial_state_fw=first_fw,
                    initial_state_bw=first_bw,
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
                inputs = tf.concat(outputs, 2)
            states.append(last)
    return inputs, tuple(fw for fw, _ in states), tuple(bw for _, bw in states)


def _starts(
    cells_fw: Sequence[Any], cells_bw: Sequence[Any], states_fw: Any, states_bw: Any
) -> list[tuple[Any, Any, Any, Any]]:
    """Yields the forward cell, backward cell, forward state and backward state of each layer."""
    given = {
        "cells_fw": cells_fw,
        "cells_bw": cells_bw,
        "initial_states_fw": states_fw,
        "initial_states_bw": states_bw,
    }
    if not cells_fw:
        raise MoxValueError("Must specify at least one fw cell for BidirectionalRNN.")
    for name, value in given.items():
        if name.startswith("initial") and value is None:
            given[name] = [None] * len(cells_fw)
        elif not isinstance(value, (list, tuple)) or len(value) != len(cells_fw):
            raise MoxValueError(f"{name} must be a list with one entry for each of cells_fw.")
    return list(zip(*given.values(), strict=True))
