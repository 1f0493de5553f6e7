"""Cells that wrap another cell, and change its inputs or outputs."""

from __future__ import annotations

import math
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.rnn.cell import Cell
from moxing.legacy.contrib.rnn.linear import linear, width


class _Wrapper(Cell):
    """Base class of the wrappers, with the sizes of the wrapped cell."""

    def __init__(self, cell: Any, reuse: bool | None = None) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns the wrapped cell's zero state."""
        with tf.name_scope(f"{type(self).__name__}ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(_Wrapper):
    """Replaces ids [batch] or [batch, 1] by rows of a matrix before the cell."""

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise MoxValueError(
                "EmbeddingWrapper needs embedding_classes and embedding_size above 0, not"
                f" {embedding_classes} and {embedding_size}."
            )
        self._embedding_classes, self._embedding_size = embedding_classes, embedding_size
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the cell's output and state."""
        # As in TensorFlow 1.x, a scope's own initializer takes precedence over the default.
        start = self._initializer or tf.get_variable_scope().initializer
        if start is None:
            start = tf.random_uniform_initializer(-math.sqrt(3), math.sqrt(3))
        dtype = tf.nest.flatten(state)[0].dtype
        with tf.device("/cpu:0"):
            shape = [self._embedding_classes, self._embedding_size]
            embedding = tf.get_variable("embedding", shape, dtype, initializer=start)
            rows = tf.nn.embedding_lookup(embedding, tf.reshape(inputs, [-1]))
        return self._cell(rows, state)


class InputProjectionWrapper(_Wrapper):
    """Multiplies the inputs by a matrix before the cell."""

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Any = None,
        input_size: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the cell's output and state."""
        projected = linear(inputs, self._num_proj, True)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class OutputProjectionWrapper(_Wrapper):
    """Multiplies the cell's output by a matrix."""

    def __init__(
        self, cell: Any, output_size: int, activation: Any = None, reuse: bool | None = None
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise MoxValueError(
                f"OutputProjectionWrapper needs output_size above 0, not {output_size}."
            )
        self._output_size, self._activation = output_size, activation

    @property
    def output_size(self) -> Any:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the projected output and the cell's state."""
        output, new_state = self._cell(inputs, state)
        projected = linear(output, self._output_size, True)
        return (self._activation(projected) if self._activation else projected), new_state


class HighwayWrapper(_Wrapper):
    """Mixes the cell's inputs into its output by a learned gate (Srivastava et al. 2015)."""

    def __init__(
        self,
        cell: Any,
        couple_carry_transform_gates: bool = True,
        carry_bias_init: float = 1.0,
    ) -> None:
        super().__init__(cell)
        self._coupled, self._carry_bias_init = couple_carry_transform_gates, carry_bias_init

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Returns the mixed output and the cell's state."""
        outputs, new_state = self._cell(inputs, state, scope=scope)
        tf.nest.assert_same_structure(inputs, outputs)
        return tf.nest.map_structure(self._mix, inputs, outputs), new_state

    def _mix(self, inputs: Any, outputs: Any) -> Any:
        inputs.shape.assert_is_compatible_with(outputs.shape)
        size = width(inputs, "HighwayWrapper")
        carry = self._gate(inputs, size, "carry", self._carry_bias_init)
        if self._coupled:
            return inputs * carry + outputs * (1 - carry)
        transform = self._gate(inputs, size, "transform", -self._carry_bias_init)
        return inputs * carry + outputs * transform

    def _gate(self, inputs: Any, size: int, name: str, bias: float) -> Any:
        weights = tf.get_variable(f"{name}_w", [size, size])
        biases = tf.get_variable(f"{name}_b", [size], initializer=tf.constant_initializer(bias))
        return tf.sigmoid(tf.nn.xw_plus_b(inputs, weights, biases))


class CompiledWrapper(_Wrapper):
    """The cell without changes: the whole run is compiled or not, never a single cell."""

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Returns the cell's output and state."""
        return self._cell(inputs, state, scope=scope)


class AttentionCellWrapper(_Wrapper):
    """Attends to the cell's own last outputs (Cheng et al. 2016; Bahdanau et al. 2014)."""

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if attn_length <= 0:
            raise MoxValueError(f"attn_length should be greater than zero, got {attn_length}.")
        self._state_is_tuple, self._attn_length = state_is_tuple, attn_length
        self._attn_size = cell.output_size if attn_size is None else attn_size
        self._attn_vec_size = self._attn_size if attn_vec_size is None else attn_vec_size
        self._input_size = input_size

    @property
    def state_size(self) -> Any:
        size = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return size if self._state_is_tuple else sum(tf.nest.flatten(size))

    @property
    def output_size(self) -> Any:
        return self._attn_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros."""
        if not self._state_is_tuple:
            return Cell.zero_state(self, batch_size, dtype)
        rows = tf.stack([batch_size])
        empty = [tf.zeros(tf.concat([rows, [size]], 0), dtype) for size in self.state_size[1:]]
        for tensor, size in zip(empty, self.state_size[1:], strict=True):
            tensor.set_shape([tf.get_static_value(batch_size), size])
        return (self._cell.zero_state(batch_size, dtype), *empty)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output with attention and the new (cell state, attention, last outputs)."""
        size, length = self._attn_size, self._attn_length
        if self._state_is_tuple:
            cell_state, attns, past = state
        else:
            own = self._cell.state_size
            cell_state, attns, past = tf.split(state, [own, size, size * length], 1)
        past = tf.reshape(past, [-1, length, size])
        input_size = self._input_size or width(inputs, "AttentionCellWrapper")
        mixed = linear([inputs, attns], input_size, True)
        output, new_cell_state = self._cell(mixed, cell_state)
        query = tf.concat(tf.nest.flatten(new_cell_state), 1)
        new_attns, kept = self._attend(query, past)
        with tf.variable_scope("attn_output_projection"):
            output = linear([output, new_attns], size, True)
        new_past = tf.concat([kept, output[:, None]], 1)
        new_state = (new_cell_state, new_attns, tf.reshape(new_past, [-1, length * size]))
        if not self._state_is_tuple:
            return output, tf.concat(tf.nest.flatten(new_state), 1)
        return output, new_state

    def _attend(self, query: Any, past: Any) -> tuple[Any, Any]:
        """Returns the weighted sum of past outputs, and the past outputs without the oldest."""
        with tf.variable_scope("attention"):
            k = tf.get_variable("attn_w", [1, 1, self._attn_size, self._attn_vec_size])
            v = tf.get_variable("attn_v", [self._attn_vec_size])
            keys = tf.nn.conv2d(past[:, :, None], k, [1, 1, 1, 1], "SAME")
            y = linear(query, self._attn_vec_size, True)[:, None, None]
            weights = tf.nn.softmax(tf.reduce_sum(v * tf.tanh(keys + y), [2, 3]))
            read = tf.reduce_sum(weights[..., None] * past, 1)
        return tf.reshape(read, [-1, self._attn_size]), past[:, 1:]
