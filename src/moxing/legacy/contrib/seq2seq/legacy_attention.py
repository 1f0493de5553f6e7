"""An unrolled decoder that attends to a list of states (Vinyals et al. 2014, section 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.rnn.linear import linear, width


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Any = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs, with attention to states at each step.

    Args:
        decoder_inputs: a list of tensors of shape [batch, n].
        initial_state: the initial state of the cell.
        attention_states: the states to attend to, of shape [batch, length, size].
        cell: an RNN cell.
        output_size: the size of the outputs; the cell's output size by default.
        num_heads: the number of attention heads.
        loop_function: a function of (output, step) that returns every input except the first,
            instead of the list.
        dtype: the dtype of the variables; the scope's by default.
        scope: the variable scope; `attention_decoder` by default.
        initial_state_attention: whether the first step attends with the initial state, instead of
            reading zeros.

    Returns:
        A list of outputs of shape [batch, output_size], and the last state.

    Raises:
        MoxValueError: there are no inputs, no heads, or states of unknown size.
    """
    if not decoder_inputs:
        raise MoxValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise MoxValueError("With less than 1 heads, use a non-attention decoder.")
    size = cell.output_size if output_size is None else output_size
    outputs: list[Any] = []
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        reader = _Reader(attention_states, num_heads, tf.shape(decoder_inputs[0])[0], opened.dtype)
        state, reads = initial_state, reader.nothing()
        if initial_state_attention:
            reads = reader.read(initial_state)
        for step, given in enumerate(decoder_inputs):
            if step:
                tf.get_variable_scope().reuse_variables()
            inputs = given
            if loop_function is not None and outputs:
                with tf.variable_scope("loop_function", reuse=True):
                    inputs = loop_function(outputs[-1], step)
            x = linear([inputs, *reads], width(inputs, "attention_decoder"), True)
            output, state = cell(x, state)
            # The attention variables exist already if the initial state was used for attention.
            reuse = True if step == 0 and initial_state_attention else None
            with tf.variable_scope(tf.get_variable_scope(), reuse=reuse):
                reads = reader.read(state)
            with tf.variable_scope("AttnOutputProjection"):
                outputs.append(linear([output, *reads], size, True))
    return outputs, state


class _Reader:
    """Computes attention; the keys are computed once."""

    def __init__(self, states: Any, heads: int, batch: Any, dtype: Any) -> None:
        self._size = width(states, "attention_decoder's attention_states")
        self._heads, self._batch, self._dtype = heads, batch, dtype
        self._states = states
        columns = states[:, :, None]
        self._keys, self._vectors = [], []
        for head in range(heads):
            k = tf.get_variable(f"AttnW_{head}", [1, 1, self._size, self._size], dtype)
            self._keys.append(tf.nn.conv2d(columns, k, [1, 1, 1, 1], "SAME"))
            self._vectors.append(tf.get_variable(f"AttnV_{head}", [self._size], dtype))

    def nothing(self) -> list[Any]:
        """Returns the zeros that stand for the attention before the first step."""
        zeros = [tf.zeros([self._batch, self._size], self._dtype) for _ in range(self._heads)]
        for tensor in zeros:
            tensor.set_shape([None, self._size])
        return zeros

    def read(self, state: Any) -> list[Any]:
        """Returns each head's attention for a state of the cell, of shape [batch, size] each."""
        flat = tf.nest.flatten(state)
        query = flat[0] if len(flat) == 1 else tf.concat(flat, 1)
        found = []
        for head, (keys, vector) in enumerate(zip(self._keys, self._vectors, strict=True)):
            with tf.variable_scope(f"Attention_{head}"):
                y = linear(query, self._size, True)[:, None, None]
                y = tf.cast(y, self._dtype)
                weights = tf.nn.softmax(tf.reduce_sum(vector * tf.tanh(keys + y), [2, 3]))
                read = tf.reduce_sum(weights[..., None] * tf.cast(self._states, self._dtype), 1)
                found.append(tf.reshape(read, [-1, self._size]))
        return found
