"""Convolutional LSTM cells (Shi et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell

from moxing.errors import MoxValueError
from moxing.legacy.contrib.rnn.cell import Cell
from moxing.legacy.contrib.rnn.linear import width

_CONVOLUTIONS = {1: tf.nn.conv1d, 2: tf.nn.conv2d, 3: tf.nn.conv3d}


class ConvLSTMCell(Cell):
    """A convolutional LSTM cell with states and outputs of shape [batch, *space, channels]."""

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Sequence[int],
        output_channels: int,
        kernel_shape: Sequence[int],
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise MoxValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._ndims, self._input_shape = conv_ndims, list(input_shape)
        self._output_channels, self._kernel_shape = output_channels, list(kernel_shape)
        self._use_bias, self._skip, self._forget_bias = use_bias, skip_connection, forget_bias
        self._initializers = initializers

    @property
    def state_size(self) -> Any:
        shape = tf.TensorShape([*self._input_shape[:-1], self._output_channels])
        return rnn_cell.LSTMStateTuple(shape, shape)

    @property
    def output_size(self) -> Any:
        channels = self._output_channels + (self._input_shape[-1] if self._skip else 0)
        return tf.TensorShape([*self._input_shape[:-1], channels])

    def call(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Returns the output and the new state (cell, hidden)."""
        cell, hidden = state
        axis = self._ndims + 1
        gates = tf.split(self._convolved(tf.concat([inputs, hidden], axis)), 4, axis)
        input_gate, new_input, forget_gate, output_gate = gates
        kept = tf.sigmoid(forget_gate + self._forget_bias) * cell
        new_cell = kept + tf.sigmoid(input_gate) * tf.tanh(new_input)
        hidden = tf.tanh(new_cell) * tf.sigmoid(output_gate)
        output = tf.concat([hidden, inputs], axis) if self._skip else hidden
        return output, rnn_cell.LSTMStateTuple(new_cell, hidden)

    def _convolved(self, values: Any) -> Any:
        features = 4 * self._output_channels
        shape = [*self._kernel_shape, width(values, "ConvLSTMCell"), features]
        kernel = tf.get_variable("kernel", shape, values.dtype, initializer=self._initializers)
        ones = 1 if self._ndims == 1 else [1] * (self._ndims + 2)
        sums = _CONVOLUTIONS[self._ndims](values, kernel, ones, "SAME")
        if not self._use_bias:
            return sums
        zeros = tf.constant_initializer(0.0, values.dtype)
        return sums + tf.get_variable("biases", [features], values.dtype, initializer=zeros)


class Conv1DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` over one dimension."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` over two dimensions."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` over three dimensions."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
