"""LSTM cells with special gates, each from the paper that its docstring names."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell

from moxing.errors import MoxValueError
from moxing.legacy.contrib.rnn.cell import Cell
from moxing.legacy.contrib.rnn.linear import layer_norm, linear, sharded, state_parts, width


class CoupledInputForgetGateLSTMCell(Cell):
    """An LSTM whose input gate is one minus its forget gate (Greff et al. 2015, CIFG)."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = tf.tanh,
        reuse: bool | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes = num_units, use_peepholes
        self._initializer, self._num_proj, self._proj_clip = initializer, num_proj, proj_clip
        self._shards, self._proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._activation = activation
        self._norm = (norm_gain, norm_shift) if layer_norm else None

    @property
    def state_size(self) -> Any:
        sizes = self._num_units, self.output_size
        return rnn_cell.LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output m and the new state (c, m)."""
        c, m = state_parts(state, self._num_units, self.output_size, self._state_is_tuple)
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            new_c, new_m = self._step(inputs, c, m)
        if self._state_is_tuple:
            return new_m, rnn_cell.LSTMStateTuple(new_c, new_m)
        return new_m, tf.concat([new_c, new_m], 1)

    def _step(self, inputs: Any, c: Any, m: Any) -> tuple[Any, Any]:
        units, dtype = self._num_units, inputs.dtype
        rows = width(inputs, "CoupledInputForgetGateLSTMCell") + self.output_size
        weights = sharded("W", [rows, 3 * units], dtype, self._shards)
        sums = tf.matmul(tf.concat([inputs, m], 1), weights)
        if self._norm is None:
            zeros = tf.zeros_initializer(dtype)
            sums = tf.nn.bias_add(sums, tf.get_variable("B", [3 * units], dtype, initializer=zeros))
        j, f, o = tf.split(sums, 3, 1)
        if self._norm is not None:
            j = layer_norm(j, "transform", *self._norm)
            f = layer_norm(f, "forget", *self._norm)
            o = layer_norm(o, "output", *self._norm)
        if self._use_peepholes:
            f = f + tf.get_variable("W_F_diag", [units], dtype) * c
        f = tf.sigmoid(f + self._forget_bias)
        new_c = f * c + (1.0 - f) * self._activation(j)
        if self._norm is not None:
            new_c = layer_norm(new_c, "state", *self._norm)
        if self._use_peepholes:
            o = o + tf.get_variable("W_O_diag", [units], dtype) * new_c
        new_m = tf.sigmoid(o) * self._activation(new_c)
        if self._num_proj is not None:
            new_m = tf.matmul(
                new_m, sharded("W_P", [units, self._num_proj], dtype, self._proj_shards)
            )
            if self._proj_clip is not None:
                new_m = tf.clip_by_value(new_m, -self._proj_clip, self._proj_clip)
        return new_c, new_m


class PhasedLSTMCell(Cell):
    """An LSTM with a gate that opens periodically (Neil et al. 2016).

    Inputs are pairs: times [batch, 1] and features [batch, n].
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._leak = num_units, use_peepholes, leak
        self._ratio_on, self._trainable_ratio_on = ratio_on, trainable_ratio_on
        self._period_range = (period_init_min, period_init_max)

    @property
    def state_size(self) -> Any:
        return rnn_cell.LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output h and the new state (c, h)."""
        (c, h), (time, features) = state, inputs
        units = self._num_units
        gates_in = [features, h, c] if self._use_peepholes else [features, h]
        with tf.variable_scope("mask_gates"):
            input_gate, forget_gate = tf.split(tf.sigmoid(linear(gates_in, 2 * units, True)), 2, 1)
        with tf.variable_scope("new_input"):
            new_input = tf.tanh(linear([features, h], units, True))
        new_c = c * forget_gate + input_gate * new_input
        out_in = [features, h, new_c] if self._use_peepholes else [features, h]
        with tf.variable_scope("output_gate"):
            output_gate = tf.sigmoid(linear(out_in, units, True))
        new_h = tf.tanh(new_c) * output_gate
        opened = self._openness(time, features.dtype)
        new_c = opened * new_c + (1.0 - opened) * c
        new_h = opened * new_h + (1.0 - opened) * h
        return new_h, rnn_cell.LSTMStateTuple(new_c, new_h)

    def _openness(self, time: Any, dtype: Any) -> Any:
        """Returns the openness of each unit's gate at `time`, by equation 6 of the paper.

        The place in a period is computed in the type of `time`: times in seconds since 1970 leave
        float32 no digit behind the point. Its gradient takes the number of whole periods as given.
        """
        low, high = self._period_range

        def periods(shape: Any, dtype: Any = dtype, partition_info: Any = None) -> Any:
            return tf.exp(tf.random_uniform(shape, np.log(low), np.log(high), dtype))

        period = tf.get_variable("period", [self._num_units], dtype, initializer=periods)
        start = getattr(period, "initial_value", None)

        def phases(shape: Any, dtype: Any = dtype, partition_info: Any = None) -> Any:
            return tf.random_uniform(shape, 0.0, 1.0, dtype) * (1.0 if start is None else start)

        phase = tf.get_variable("phase", [self._num_units], dtype, initializer=phases)
        ratio = tf.get_variable(
            "ratio_on",
            [self._num_units],
            dtype,
            initializer=tf.constant_initializer(self._ratio_on, dtype),
            trainable=self._trainable_ratio_on,
        )
        shifted = time - tf.cast(phase, time.dtype)
        length = tf.cast(period, time.dtype)
        rest = shifted + tf.stop_gradient(tf.mod(shifted, length) - shifted)
        cycle = tf.cast(rest / length, dtype)
        rising = 2.0 * cycle / ratio
        opened = tf.where(cycle < ratio, 2.0 - rising, self._leak * cycle)
        return tf.where(cycle < 0.5 * ratio, rising, opened)


class GLSTMCell(Cell):
    """An LSTM of independent groups of units (Kuchaiev and Ginsburg 2017, section 3.1)."""

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Any = tf.tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_units % number_of_groups or (num_proj or 0) % number_of_groups:
            raise MoxValueError(
                f"number_of_groups={number_of_groups} must divide num_units={num_units}"
                f" and num_proj={num_proj}."
            )
        self._num_units, self._initializer, self._num_proj = num_units, initializer, num_proj
        self._groups, self._forget_bias, self._activation = (
            number_of_groups,
            forget_bias,
            activation,
        )

    @property
    def state_size(self) -> Any:
        return rnn_cell.LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output m and the new state (c, m)."""
        c, m = state
        units = self._num_units
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            parts: list[list[Any]] = [[], [], [], []]
            columns = zip(
                _in_groups(inputs, self._groups), tf.split(m, self._groups, 1), strict=True
            )
            for index, (group_inputs, group_m) in enumerate(columns):
                with tf.variable_scope(f"group{index}"):
                    sums = linear([group_inputs, group_m], 4 * units // self._groups, False)
                for part, value in zip(parts, tf.split(sums, 4, 1), strict=True):
                    part.append(value)
            i, j, f, o = (
                self._with_bias(tf.concat(part, 1), name)
                for part, name in zip(parts, "ijfo", strict=True)
            )
            new_c = tf.sigmoid(f + self._forget_bias) * c + tf.sigmoid(i) * tf.tanh(j)
            new_m = tf.sigmoid(o) * self._activation(new_c)
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    new_m = linear(new_m, self._num_proj, False)
        return new_m, rnn_cell.LSTMStateTuple(new_c, new_m)

    def _with_bias(self, values: Any, gate: str) -> Any:
        zeros = tf.constant_initializer(0.0, values.dtype)
        shape = [self._num_units]
        bias = tf.get_variable(f"bias_{gate}", shape, values.dtype, initializer=zeros)
        return tf.nn.bias_add(values, bias)


def _in_groups(inputs: Any, groups: int) -> list[Any]:
    """Splits the columns of the inputs evenly into `groups` parts."""
    if width(inputs, "GLSTMCell") % groups:
        raise MoxValueError(f"GLSTMCell's {groups} groups must divide the inputs' {inputs.shape}.")
    return list(tf.split(inputs, groups, 1))
