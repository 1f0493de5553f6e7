"""Cells with a state of one or two vectors, each from the paper that its docstring names."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell

from moxing.errors import MoxValueError
from moxing.legacy.contrib.rnn.cell import Cell
from moxing.legacy.contrib.rnn.linear import BIAS, KERNEL, linear, width


class UGRNNCell(Cell):
    """Update gate RNN (Collins et al. 2017, section 2): h' = g h + (1 - g) c."""

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Any = tf.tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer = num_units, initializer
        self._forget_bias, self._activation = forget_bias, activation

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the new state as both output and state."""
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            both = linear([inputs, state], 2 * self._num_units, True)
        gate, candidate = tf.split(both, 2, 1)
        gate = tf.sigmoid(gate + self._forget_bias)
        new = gate * state + (1.0 - gate) * self._activation(candidate)
        return new, new


class IntersectionRNNCell(Cell):
    """Intersection RNN (Collins et al. 2017, section 2): gates the state and the input's way up."""

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: float = 1.0,
        y_activation: Any = tf.nn.relu,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_in_proj = num_units, num_in_proj
        self._initializer, self._forget_bias = initializer, forget_bias
        self._y_activation = y_activation

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output y and the new state.

        Raises:
            MoxValueError: neither the inputs' width nor num_in_proj is num_units.
        """
        units = self._num_units
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            if width(inputs, "IntersectionRNNCell") != units:
                if self._num_in_proj != units:
                    raise MoxValueError(
                        f"IntersectionRNNCell({units}) takes inputs of width {units}, not"
                        f" {inputs.shape[-1]}; give num_in_proj={units} to project them."
                    )
                with tf.variable_scope("in_projection"):
                    inputs = linear(inputs, units, True)
            parts = linear([inputs, state], 4 * units, True)
        gate_h, h, gate_y, y = tf.split(parts, 4, 1)
        gate_h = tf.sigmoid(gate_h + self._forget_bias)
        gate_y = tf.sigmoid(gate_y + self._forget_bias)
        new_state = gate_h * state + (1.0 - gate_h) * tf.tanh(h)
        return gate_y * inputs + (1.0 - gate_y) * self._y_activation(y), new_state


class NASCell(Cell):
    """The cell that architecture search found (Zoph and Le 2017, figure 8)."""

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("use_biases", None)
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    @property
    def state_size(self) -> Any:
        return rnn_cell.LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_units if self._num_proj is None else self._num_proj

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output m and the new state (c, m)."""
        c, m = state
        units = self._num_units
        recurrent = tf.get_variable("recurrent_kernel", [self.output_size, 8 * units], inputs.dtype)
        kernel = tf.get_variable(KERNEL, [width(inputs, "NASCell"), 8 * units], inputs.dtype)
        from_state, from_inputs = tf.matmul(m, recurrent), tf.matmul(inputs, kernel)
        if self._use_bias:
            start = tf.zeros_initializer(inputs.dtype)
            bias = tf.get_variable(BIAS, [8 * units], inputs.dtype, initializer=start)
            from_state = tf.nn.bias_add(from_state, bias)
        s, x = tf.split(from_state, 8, 1), tf.split(from_inputs, 8, 1)
        left = tf.tanh(tf.sigmoid(x[0] + s[0]) * tf.nn.relu(x[1] + s[1]))
        second = tf.tanh(tf.sigmoid(x[2] + s[2]) + tf.nn.relu(x[3] * s[3]))
        third = tf.tanh(tf.tanh(x[4] + s[4]) * tf.sigmoid(x[5] + s[5]))
        right = tf.sigmoid(tf.tanh(x[6] + s[6]) + tf.sigmoid(x[7] + s[7]))
        new_c = tf.tanh(left + c) * second
        new_m = tf.tanh(new_c * tf.tanh(third + right))
        if self._num_proj is not None:
            shape = [units, self._num_proj]
            new_m = tf.matmul(new_m, tf.get_variable("projection_weights", shape, inputs.dtype))
        return new_m, rnn_cell.LSTMStateTuple(new_c, new_m)


class SRUCell(Cell):
    """Simple recurrent unit (Lei and Zhang 2017): the state does not enter the gates."""

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

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output h and the new state c."""
        units = self._num_units
        kernel = tf.get_variable(KERNEL, [width(inputs, "SRUCell"), 4 * units], inputs.dtype)
        start = tf.constant_initializer(0.0, inputs.dtype)
        bias = tf.get_variable(BIAS, [2 * units], inputs.dtype, initializer=start)
        candidate, forget, reset, skipped = tf.split(tf.matmul(inputs, kernel), 4, 1)
        gates = tf.sigmoid(tf.nn.bias_add(tf.concat([forget, reset], 1), bias))
        forget, reset = tf.split(gates, 2, 1)
        c = forget * state + (1.0 - forget) * candidate
        return reset * self._activation(c) + (1.0 - reset) * skipped, c
