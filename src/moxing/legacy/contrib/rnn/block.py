"""LSTM cells computed by a single TensorFlow operation, and block GRU cells."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell
from tensorflow.python.autograph.impl.api import autograph_artifact

from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.legacy.contrib.rnn.cell import Cell
from moxing.legacy.contrib.rnn.linear import BIAS, KERNEL, width


def _weights(cell: Any, rows: int, units: int, peephole: bool, dtype: Any) -> list[Any]:
    """Returns w, wci, wcf, wco and b for the operation; `cell` makes the variables."""
    w = cell(KERNEL, [rows, 4 * units], dtype, None)
    b = cell(BIAS, [4 * units], dtype, tf.constant_initializer(0.0, dtype))
    if not peephole:
        none = tf.zeros([units], dtype)
        return [w, none, none, none, b]
    diagonals = [cell(f"w_{gate}_diag", [units], dtype, None) for gate in "ifo"]
    return [w, *diagonals, b]


def _get(name: str, shape: list[int], dtype: Any, initializer: Any) -> Any:
    return tf.get_variable(name, shape, dtype, initializer=initializer)


def _run(
    x: Any, length: Any, c: Any, h: Any, weights: list[Any], options: dict[str, Any]
) -> tuple[Any, Any]:
    """Returns cell states and outputs [time, batch, units] of each step of x [time, batch, n]."""
    w, wci, wcf, wco, b = weights
    result = tf.raw_ops.BlockLSTM(
        seq_len_max=tf.cast(length, tf.int64),
        x=x,
        cs_prev=c,
        h_prev=h,
        w=w,
        wci=wci,
        wcf=wcf,
        wco=wco,
        b=b,
        **options,
    )
    return result.cs, result.h


class LSTMBlockCell(Cell):
    """`BasicLSTMCell`, optionally with peepholes, as one operation per step."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units, self._use_peephole = num_units, use_peephole
        self._options = _options(forget_bias, cell_clip, use_peephole)

    @property
    def state_size(self) -> Any:
        return rnn_cell.LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output h and the new state (c, h)."""
        c, h = state
        rows = width(inputs, "LSTMBlockCell") + self._num_units
        weights = _weights(_get, rows, self._num_units, self._use_peephole, inputs.dtype)
        # The operation for sequences still has a gradient; the operation for one step lost it.
        cs, hs = _run(inputs[None], 1, c, h, weights, self._options)
        return hs[0], rnn_cell.LSTMStateTuple(cs[0], hs[0])


def _options(forget_bias: float, cell_clip: float | None, use_peephole: bool) -> dict[str, Any]:
    clip = -1.0 if cell_clip is None else cell_clip
    return {"forget_bias": forget_bias, "cell_clip": clip, "use_peephole": use_peephole}


class GRUBlockCell(rnn_cell.GRUCell):
    """`GRUCell` under the name of the cell that was a single operation in TensorFlow 1."""

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | None = None,
        name: str = "gru_cell",
    ) -> None:
        units = cell_size if num_units is None else num_units
        if units is None or (cell_size is not None and num_units is not None):
            raise MoxValueError("GRUBlockCell takes either num_units or cell_size.")
        super().__init__(units, reuse=reuse, name=name)


class GRUBlockCellV2(GRUBlockCell):
    """`GRUBlockCell`."""


class LSTMBlockWrapper(tf.layers.Layer):
    """Base class of LSTMs over whole sequences [time, batch, n]."""

    @property
    def num_units(self) -> int:
        """The size of the outputs."""
        raise MoxNotSupportedError("LSTMBlockWrapper is abstract: define num_units.")

    def _call_cell(
        self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any, length: Any
    ) -> tuple[Any, Any]:
        raise MoxNotSupportedError("LSTMBlockWrapper is abstract: define _call_cell.")

    @autograph_artifact
    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
    ) -> tuple[Any, Any]:
        """Runs the LSTM over whole sequences.

        Args:
            inputs: a tensor of shape [time, batch, n], or a list of tensors of shape [batch, n].
            initial_state: (c, h), each of shape [batch, units]; zeros by default.
            dtype: the dtype of the zeros; needed without initial_state.
            sequence_length: the lengths, of shape [batch]; all steps by default.

        Returns:
            The outputs, in the structure of the inputs, and the last state (c, h).

        Raises:
            MoxValueError: neither initial_state nor dtype is given, or inputs has another rank.
        """
        as_list = isinstance(inputs, list)
        x = tf.stack(inputs) if as_list else inputs
        if x.shape.ndims != 3:
            raise MoxValueError(f"inputs must be [time, batch, n], not {x.shape}.")
        steps, batch = _size(x, 0), _size(x, 1)
        if initial_state is None:
            if dtype is None:
                raise MoxValueError("Either initial_state or dtype needs to be specified")
            zeros = tf.zeros([batch, self.num_units], dtype)
            start = (zeros, zeros)
        else:
            c, h = initial_state
            start = (c, h)
            dtype = dtype or start[0].dtype
        lengths = None
        last = steps
        if sequence_length is not None:
            lengths = tf.cast(sequence_length, tf.int32)
            last = tf.reduce_max(lengths)
        cells, outputs = self._call_cell(x, start[0], start[1], dtype, last)
        final = _final(cells, outputs, start, lengths, steps)
        if lengths is not None:
            outputs = outputs * tf.transpose(tf.sequence_mask(lengths, steps, dtype))[..., None]
        outputs = tf.unstack(outputs) if as_list else outputs
        return outputs, rnn_cell.LSTMStateTuple(*final)


def _size(tensor: Any, axis: int) -> Any:
    static = tf.dimension_value(tensor.shape[axis])
    return tf.shape(tensor)[axis] if static is None else static


def _final(cells: Any, outputs: Any, start: Any, lengths: Any, steps: Any) -> list[Any]:
    """Returns the states after each sequence's last step; the initial state for length 0."""
    if lengths is None:
        return [cells[-1], outputs[-1]]
    batch = tf.shape(cells)[1]
    where = tf.stack([lengths, tf.range(batch)], axis=1)
    pairs = zip(start, (cells, outputs), strict=True)
    return [tf.gather_nd(tf.concat([first[None], rest], 0), where) for first, rest in pairs]


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM over whole sequences as one operation, with the weights of `LSTMBlockCell`."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._use_peephole = num_units, use_peephole
        self._options = _options(forget_bias, cell_clip, use_peephole)
        self.input_spec = None

    @property
    def num_units(self) -> int:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        shape = tf.TensorShape(input_shape)
        if shape.ndims is None or tf.dimension_value(shape[-1]) is None:
            raise MoxValueError("LSTMBlockFusedCell needs a known last dimension of its inputs.")
        rows = int(shape[-1]) + self._num_units

        def make(name: str, shape: list[int], dtype: Any, initializer: Any) -> Any:
            return self.add_weight(name, shape=shape, dtype=dtype, initializer=initializer)

        dtype = self.dtype or tf.float32
        self._parts = _weights(make, rows, self._num_units, self._use_peephole, dtype)
        self.built = True

    def _call_cell(
        self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any, length: Any
    ) -> tuple[Any, Any]:
        weights = [tf.convert_to_tensor(part) for part in self._parts]
        return _run(inputs, length, initial_cell_state, initial_output, weights, self._options)
