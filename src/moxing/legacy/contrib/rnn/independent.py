"""Cells in which each unit sees only its own past (Li et al. 2018, IndRNN)."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell

from moxing.legacy.contrib.rnn.cell import Cell
from moxing.legacy.contrib.rnn.linear import BIAS, KERNEL, width


class _Independent(Cell):
    """Base class of the cells: w inputs + u * state + b with variables of a scope."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self._num_units, self._activation = num_units, activation or tf.tanh

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def _sums(
        self, inputs: Any, state: Any, many: int, bias: Any, kernel_initializer: Any = None
    ) -> Any:
        size, dtype = many * self._num_units, inputs.dtype
        rows = width(inputs, type(self).__name__)
        w = tf.get_variable(f"{KERNEL}_w", [rows, size], dtype, initializer=kernel_initializer)
        spread = kernel_initializer or tf.random_uniform_initializer(-1, 1, dtype=dtype)
        u = tf.get_variable(f"{KERNEL}_u", [1, size], dtype, initializer=spread)
        b = tf.get_variable(BIAS, [size], dtype, initializer=bias)
        repeated = state if many == 1 else tf.tile(state, [1, many])
        return tf.nn.bias_add(tf.matmul(inputs, w) + repeated * u, b)


class IndRNNCell(_Independent):
    """h' = activation(W x + u * h + b)."""

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the new state as both output and state."""
        sums = self._sums(inputs, state, 1, tf.zeros_initializer(inputs.dtype))
        new = self._activation(sums)
        return new, new


class IndyGRUCell(_Independent):
    """A GRU whose recurrent matrices are diagonal."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, **kwargs)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the new state as both output and state."""
        dtype, given, kernel = inputs.dtype, self._bias_initializer, self._kernel_initializer
        with tf.variable_scope("gates"):
            ones = tf.constant_initializer(1.0, dtype) if given is None else given
            gates = tf.sigmoid(self._sums(inputs, state, 2, ones, kernel))
        reset, update = tf.split(gates, 2, 1)
        with tf.variable_scope("candidate"):
            zeros = tf.zeros_initializer(dtype) if given is None else given
            candidate = self._activation(self._sums(inputs, reset * state, 1, zeros, kernel))
        new = update * state + (1.0 - update) * candidate
        return new, new


class IndyLSTMCell(_Independent):
    """An LSTM whose recurrent matrices are diagonal (Gonnet and Deselaers 2019)."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Any = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, **kwargs)
        self._forget_bias, self._kernel_initializer = forget_bias, kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self) -> Any:
        return rnn_cell.LSTMStateTuple(self._num_units, self._num_units)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output h and the new state (c, h)."""
        c, h = state
        given = self._bias_initializer
        zeros = tf.zeros_initializer(inputs.dtype) if given is None else given
        i, j, f, o = tf.split(self._sums(inputs, h, 4, zeros, self._kernel_initializer), 4, 1)
        new_c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * tf.sigmoid(o)
        return new_h, rnn_cell.LSTMStateTuple(new_c, new_h)
