"""LSTM cells whose sums or weights are normalized."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell

from moxing.legacy.contrib.rnn.cell import Cell
from moxing.legacy.contrib.rnn.linear import BIAS, KERNEL, layer_norm, width

_GATES = ("input", "transform", "forget", "output")


class LayerNormBasicLSTMCell(Cell):
    """A basic LSTM with layer normalization (Ba et al. 2016) and recurrent dropout
    (Semeniuta et al. 2016)."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Any = tf.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._norm = (norm_gain, norm_shift) if layer_norm else None
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self) -> Any:
        return rnn_cell.LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output h and the new state (c, h)."""
        c, h = state
        joined, units = tf.concat([inputs, h], 1), self._num_units
        kernel = tf.get_variable(KERNEL, [width(joined, "the cell"), 4 * units], joined.dtype)
        sums = tf.matmul(joined, kernel)
        if self._norm is None:
            zeros = tf.zeros_initializer(joined.dtype)
            bias = tf.get_variable(BIAS, [4 * units], joined.dtype, initializer=zeros)
            sums = tf.nn.bias_add(sums, bias)
        gates = tf.split(sums, 4, 1)
        i, j, f, o = (self._normed(gate, at) for gate, at in zip(gates, _GATES, strict=True))
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = tf.nn.dropout(g, keep_prob=self._keep_prob, seed=self._seed)
        new_c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * g
        new_c = self._normed(new_c, "state")
        new_h = self._activation(new_c) * tf.sigmoid(o)
        return new_h, rnn_cell.LSTMStateTuple(new_c, new_h)

    def _normed(self, values: Any, scope: str) -> Any:
        return values if self._norm is None else layer_norm(values, scope, *self._norm)


class LayerNormLSTMCell(Cell):
    """An LSTM with peepholes, projection and layer normalization (Ba et al. 2016)."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1.0,
        activation: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._num_proj, self._proj_clip = initializer, num_proj, proj_clip
        self._forget_bias, self._activation = forget_bias, activation or tf.tanh
        self._norm = (norm_gain, norm_shift) if layer_norm else None

    @property
    def state_size(self) -> Any:
        return rnn_cell.LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output m and the new state (c, m)."""
        c, m = state
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            gates = tf.split(self._sums(inputs, m), 4, 1)
            if self._norm is not None:
                pairs = zip(gates, _GATES, strict=True)
                gates = [layer_norm(gate, at, *self._norm) for gate, at in pairs]
            i, j, f, o = gates
            if self._use_peepholes:
                i, f = i + self._peephole("i") * c, f + self._peephole("f") * c
            new_c = tf.sigmoid(f + self._forget_bias) * c + tf.sigmoid(i) * self._activation(j)
            if self._norm is not None:
                new_c = layer_norm(new_c, "state", *self._norm)
            if self._cell_clip is not None:
                new_c = tf.clip_by_value(new_c, -self._cell_clip, self._cell_clip)
            if self._use_peepholes:
                o = o + self._peephole("o") * new_c
            new_m = self._projected(tf.sigmoid(o) * self._activation(new_c))
        return new_m, rnn_cell.LSTMStateTuple(new_c, new_m)

    def _kernel(self, shape: list[int], dtype: Any) -> Any:
        return tf.get_variable(KERNEL, shape, dtype)

    def _sums(self, inputs: Any, m: Any) -> Any:
        joined = tf.concat([inputs, m], 1)
        shape = [width(joined, type(self).__name__), 4 * self._num_units]
        sums = tf.matmul(joined, self._kernel(shape, joined.dtype))
        if self._norm is not None:
            return sums
        zeros = tf.zeros_initializer(joined.dtype)
        bias = tf.get_variable(BIAS, [shape[1]], joined.dtype, initializer=zeros)
        return tf.nn.bias_add(sums, bias)

    def _peephole(self, gate: str) -> Any:
        return tf.get_variable(f"w_{gate}_diag", [self._num_units])

    def _projected(self, m: Any) -> Any:
        if self._num_proj is None:
            return m
        with tf.variable_scope("projection"):
            m = tf.matmul(m, self._kernel([self._num_units, self._num_proj], m.dtype))
        if self._proj_clip is not None:
            m = tf.clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m


class WeightNormLSTMCell(LayerNormLSTMCell):
    """An LSTM whose kernels have columns of learned length (Salimans and Kingma 2016)."""

    def __init__(
        self,
        num_units: int,
        norm: bool = True,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1,
        activation: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes,
            cell_clip,
            initializer,
            num_proj,
            proj_clip,
            forget_bias,
            activation,
            reuse=reuse,
        )
        self._weight_norm = norm

    def _kernel(self, shape: list[int], dtype: Any) -> Any:
        kernel = super()._kernel(shape, dtype)
        if not self._weight_norm:
            return kernel
        with tf.variable_scope("wn"):
            lengths = tf.get_variable("g", [shape[1]], dtype)
        return tf.nn.l2_normalize(kernel, axis=0) * lengths
