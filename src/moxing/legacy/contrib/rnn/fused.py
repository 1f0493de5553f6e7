"""RNNs that take a whole sequence at once: `fused(inputs [time, batch, n], ...)`."""

from __future__ import annotations

import abc
from typing import Any

import tensorflow.compat.v1 as tf


class FusedRNNCell(abc.ABC):
    """An RNN that is called with [time, batch, n], and returns outputs and a final state."""

    @abc.abstractmethod
    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Runs over whole sequences."""


class FusedRNNCellAdaptor(FusedRNNCell):
    """Runs an RNN cell over whole sequences by `tf.nn.dynamic_rnn` or `tf.nn.static_rnn`."""

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._dynamic = cell, use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Returns the outputs, in the form of the inputs, and the last state."""
        as_list = isinstance(inputs, list)
        options = {
            "sequence_length": sequence_length,
            "initial_state": initial_state,
            "dtype": dtype,
            "scope": scope,
        }
        if self._dynamic:
            x = tf.stack(inputs) if as_list else inputs
            outputs, state = tf.nn.dynamic_rnn(self._cell, x, time_major=True, **options)
            return (tf.unstack(outputs) if as_list else outputs), state
        steps = inputs if as_list else tf.unstack(inputs)
        outputs, state = tf.nn.static_rnn(self._cell, steps, **options)
        return (outputs if as_list else tf.stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A fused RNN that reads each sequence from its end."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Returns the outputs, in the order of the inputs, and the last state."""
        options = {"scope": scope} if scope is not None else {}
        outputs, state = self._cell(
            _reversed(inputs, sequence_length),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            **options,
        )
        return _reversed(outputs, sequence_length), state


def _reversed(values: Any, lengths: Any) -> Any:
    as_list = isinstance(values, list)
    if lengths is None:
        return values[::-1] if as_list else tf.reverse(values, [0])
    x = tf.stack(values) if as_list else values
    turned = tf.reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)
    return tf.unstack(turned) if as_list else turned
