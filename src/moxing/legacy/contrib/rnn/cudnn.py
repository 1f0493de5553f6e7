"""`tf.contrib.cudnn_rnn`: layers by cuDNN's equations, with one set of weights for CPU and GPU.

TensorFlow 1.x kept the weights of a layer in one opaque variable, but wrote them to checkpoints in
the canonical form: as the variables of the cells that compute the same on a CPU. Here the layer
itself has these variables, so the checkpoints of a layer load into the cells and the reverse. The
equations are those of cuDNN's reference, `cudnnRNNMode_t`. Where the equations use only the sum of
a gate's two biases, one variable holds the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import tensorflow.compat.v1 as tf
from tensorflow.python.autograph.impl.api import autograph_artifact

from moxing.errors import MoxValueError
from moxing.legacy.contrib.rnn.block import LSTMBlockCell, LSTMBlockFusedCell
from moxing.legacy.contrib.rnn.cell import Cell

CUDNN_RNN_UNIDIRECTION = "unidirectional"
CUDNN_RNN_BIDIRECTION = "bidirectional"
_DIRECTIONS = (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION)
_LSTM_CELL = "cudnn_compatible_lstm_cell"
_GRU_CELL = "cudnn_compatible_gru_cell"


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """The cell of a `CudnnLSTM`: an LSTM without forget bias, clipping and peepholes."""

    def __init__(self, num_units: int, reuse: bool | None = None) -> None:
        super().__init__(num_units, forget_bias=0.0, reuse=reuse, name=_LSTM_CELL)


class CudnnCompatibleGRUCell(Cell):
    """The cell of a `CudnnGRU`: its reset gate acts after the product of state and weights."""

    def __init__(
        self, num_units: int, reuse: bool | None = None, kernel_initializer: Any = None
    ) -> None:
        super().__init__(_reuse=reuse, name=_GRU_CELL)
        self._num_units, self._kernel_initializer = num_units, kernel_initializer

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        """Makes the variables."""
        self._parts = _gru_variables(
            self.add_weight, "", int(inputs_shape[-1]), self._num_units, self._kernel_initializer
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Returns the output and the new state, which are the same tensor."""
        return _gru_step(self._parts, inputs, state)


def _gru_variables(add: Any, prefix: str, rows: int, units: int, kernel: Any) -> list[Any]:
    candidate = f"{prefix}candidate/"
    return [
        add(f"{prefix}gates/kernel", [rows + units, 2 * units], initializer=kernel),
        add(f"{prefix}gates/bias", [2 * units], initializer=tf.zeros_initializer()),
        add(f"{candidate}input_projection/kernel", [rows, units], initializer=kernel),
        add(f"{candidate}hidden_projection/kernel", [units, units], initializer=kernel),
        add(f"{candidate}input_projection/bias", [units], initializer=tf.zeros_initializer()),
        add(f"{candidate}hidden_projection/bias", [units], initializer=tf.zeros_initializer()),
    ]


def _gru_step(parts: list[Any], x: Any, h: Any) -> tuple[Any, Any]:
    """r, u = sigmoid([x, h] W + b); h' = u h + (1 - u) tanh(x Wi + bi + r (h Wh + bh))."""
    gates, gates_bias, on_input, on_state, input_bias, state_bias = parts
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), gates) + gates_bias), 2, 1)
    candidate = tf.matmul(x, on_input) + input_bias + r * (tf.matmul(h, on_state) + state_bias)
    new = u * h + (1 - u) * tf.tanh(candidate)
    return new, new


class _Stepping(Cell):
    """A cell that computes a step with the variables of the layer that made the cell."""

    def __init__(self, units: int, step: Callable[[Any, Any], tuple[Any, Any]], dtype: Any) -> None:
        super().__init__(dtype=dtype)
        self._units, self._step = units, step

    @property
    def state_size(self) -> Any:
        return self._units

    @property
    def output_size(self) -> Any:
        return self._units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        return self._step(inputs, state)


class _CudnnRNN(tf.layers.Layer):
    """A stack of recurrent layers over whole sequences; each class below chooses the cells."""

    _rnn_mode: ClassVar[str]
    _cell_name: ClassVar[str]
    _states: ClassVar[int] = 1

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = CUDNN_RNN_UNIDIRECTION,
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = tf.float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        """Takes the description of the layers.

        Args:
            num_layers: how many layers are stacked.
            num_units: the size of a layer's state in one direction.
            input_mode: "linear_input" or "auto_select".
            direction: "unidirectional" or "bidirectional".
            dropout: the probability that a value between two layers is dropped in training.
            seed: the seed of dropout and of the initial values.
            dtype: the dtype of the variables: float16, float32 or float64.
            kernel_initializer: initializer of the weights of a gate; by default Glorot's uniform
                initializer.
            bias_initializer: initializer of the biases; zeros by default.
            name: the scope of the variables.

        Raises:
            MoxValueError: input_mode or direction is another value, or dropout is no probability.
        """
        super().__init__(dtype=dtype, name=name or _snake(type(self).__name__))
        if input_mode not in ("linear_input", "auto_select"):
            old = isinstance(input_mode, int)
            raise MoxValueError(
                f"{type(self).__name__} has input_mode {input_mode!r}, but only 'linear_input' and"
                " 'auto_select' are here."
                + (" As a number it is the input_size of TensorFlow 1.3: leave it out." * old)
            )
        if direction not in _DIRECTIONS:
            raise MoxValueError(f"direction is {direction!r}, but must be one of {_DIRECTIONS}.")
        if not 0 <= dropout <= 1:
            raise MoxValueError(f"dropout is {dropout}, but must be between 0 and 1.")
        self._num_layers, self._num_units, self._input_mode = num_layers, num_units, input_mode
        self._direction, self._dropout, self._seed = direction, dropout, seed
        self._kernel_initializer = kernel_initializer or tf.glorot_uniform_initializer(seed)
        self._bias_initializer = bias_initializer or tf.zeros_initializer()

    num_layers = property(lambda self: self._num_layers)
    num_units = property(lambda self: self._num_units)
    input_mode = property(lambda self: self._input_mode)
    direction = property(lambda self: self._direction)
    rnn_mode = property(lambda self: self._rnn_mode)
    num_dirs = property(lambda self: 1 + _DIRECTIONS.index(self._direction))

    def state_shape(self, batch_size: int) -> Any:
        """Returns the shapes of the states, each [num_layers * num_dirs, batch_size, num_units]."""
        shape = [self.num_layers * self.num_dirs, batch_size, self.num_units]
        return tuple(list(shape) for _ in range(self._states))

    def build(self, input_shape: Any) -> None:
        """Makes the variables, named as checkpoints of TensorFlow 1.x name them."""
        shape = tf.TensorShape(input_shape)
        rows = tf.dimension_value(shape[-1]) if shape.ndims == 3 else None
        if rows is None:
            raise MoxValueError(
                f"{type(self).__name__} takes inputs of shape [time, batch, n] with n known,"
                f" not {shape}."
            )
        self._cells = []
        for layer in range(self.num_layers):
            for way in range(self.num_dirs):
                self._cells.append(self._cell(f"{self._prefix(layer, way)}/", int(rows)))
            rows = self.num_units * self.num_dirs
        self.built = True

    def _prefix(self, layer: int, way: int) -> str:
        if self.num_dirs == 1:
            return f"rnn/multi_rnn_cell/cell_{layer}/{self._cell_name}"
        ways = f"bidirectional_rnn/{('fw', 'bw')[way]}"
        return f"stack_bidirectional_rnn/cell_{layer}/{ways}/{self._cell_name}"

    def _cell(self, prefix: str, rows: int) -> list[Any]:
        raise NotImplementedError

    def _gates(self, rows: tuple[int, ...], gates: int) -> Callable[..., Any]:
        """Returns an initializer that gives each gate and each part of `rows` its own values."""

        def make(shape: Any, dtype: Any = None, **options: Any) -> Any:
            return tf.concat(
                [
                    tf.concat([self._start([part, self.num_units], dtype) for part in rows], 0)
                    for _ in range(gates)
                ],
                1,
            )

        return make

    def _start(self, shape: list[int], dtype: Any) -> Any:
        return self._kernel_initializer(shape, dtype=dtype or self.dtype)

    @autograph_artifact
    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: bool = True,
    ) -> tuple[Any, Any]:
        """Runs the layers over whole sequences.

        Args:
            inputs: a tensor of shape [time, batch, n]; [batch, time, n] without time_major.
            initial_state: a tuple with a tensor for each kind of state: (h, c) for an LSTM, (h,)
                for other classes. Each tensor has the shape of `state_shape`, or, without
                time_major, [batch, layers * directions, units]. Zeros by default.
            sequence_lengths: the lengths of the sequences, of shape [batch]; all steps by default.
            time_major: whether time is the first axis.
            training: whether dropout acts between the layers.

        Returns:
            The outputs of the last layer, [time, batch, units * directions], and the last states,
            shaped as initial_state. Without time_major, the outputs begin with [batch, time].
        """
        outputs = inputs if time_major else tf.transpose(inputs, [1, 0, 2])
        starts = self._starts(outputs, initial_state, time_major)
        finals: list[Any] = []
        for layer in range(self.num_layers):
            if layer and training and self._dropout:
                outputs = tf.nn.dropout(outputs, rate=self._dropout, seed=self._seed)
            ways = []
            for way in range(self.num_dirs):
                place = layer * self.num_dirs + way
                start = [state[place] for state in starts]
                result, last = self._one_way(place, outputs, start, sequence_lengths, way == 1)
                ways.append(result)
                finals.append(last)
            outputs = tf.concat(ways, 2) if len(ways) > 1 else ways[0]
        states = tuple(tf.stack(parts) for parts in zip(*finals, strict=True))
        if not time_major:
            outputs = tf.transpose(outputs, [1, 0, 2])
            states = tuple(tf.transpose(state, [1, 0, 2]) for state in states)
        return outputs, states

    def _starts(self, inputs: Any, given: Any, time_major: bool) -> list[Any]:
        if given is None:
            places = self.num_layers * self.num_dirs
            shape = [places, tf.shape(inputs)[1], self.num_units]
            return [tf.zeros(shape, inputs.dtype)] * self._states
        states = list(given) if isinstance(given, (list, tuple)) else [given]
        if len(states) != self._states:
            raise MoxValueError(
                f"initial_state of {type(self).__name__} holds {len(states)} tensors, but must"
                f" hold {self._states}."
            )
        return states if time_major else [tf.transpose(state, [1, 0, 2]) for state in states]

    def _one_way(
        self, place: int, x: Any, start: list[Any], lengths: Any, backwards: bool
    ) -> tuple[Any, list[Any]]:
        def turned(tensor: Any) -> Any:
            if not backwards:
                return tensor
            if lengths is None:
                return tf.reverse(tensor, [0])
            return tf.reverse_sequence(tensor, lengths, seq_axis=0, batch_axis=1)

        result, last = self._sequence(place, turned(x), start, lengths)
        return turned(result), last

    def _sequence(
        self, place: int, x: Any, start: list[Any], lengths: Any
    ) -> tuple[Any, list[Any]]:
        cell = _Stepping(self.num_units, lambda *values: self._step(place, *values), x.dtype)
        outputs, last = tf.nn.dynamic_rnn(
            cell, x, lengths, initial_state=start[0], time_major=True, scope=f"place_{place}"
        )
        return outputs, [last]

    def _step(self, place: int, x: Any, h: Any) -> tuple[Any, Any]:
        raise NotImplementedError


def _snake(name: str) -> str:
    ends = {"CudnnLSTM": "cudnn_lstm", "CudnnGRU": "cudnn_gru"}
    return ends.get(name, name.replace("CudnnRNN", "cudnn_rnn_").lower())


class CudnnLSTM(_CudnnRNN):
    """LSTMs over whole sequences; their states are (h, c)."""

    _rnn_mode, _cell_name, _states = "lstm", _LSTM_CELL, 2

    def _cell(self, prefix: str, rows: int) -> list[Any]:
        units = self.num_units
        start = self._gates((rows, units), 4)
        return [
            self.add_weight(f"{prefix}kernel", [rows + units, 4 * units], initializer=start),
            self.add_weight(f"{prefix}bias", [4 * units], initializer=self._bias_initializer),
        ]

    def _sequence(
        self, place: int, x: Any, start: list[Any], lengths: Any
    ) -> tuple[Any, list[Any]]:
        h, c = start
        fused = _Fused(self.num_units, self._cells[place], x.dtype)
        outputs, last = fused.call(x, (c, h), sequence_length=lengths)
        return outputs, [last.h, last.c]


class _Fused(LSTMBlockFusedCell):
    """One operation for all steps of an LSTM, on the variables of a `CudnnLSTM`."""

    def __init__(self, units: int, parts: list[Any], dtype: Any) -> None:
        super().__init__(units, forget_bias=0.0, dtype=dtype)
        none = tf.zeros([units], dtype)
        self._parts = [parts[0], none, none, none, parts[1]]


class CudnnGRU(_CudnnRNN):
    """GRUs by the equations of `CudnnCompatibleGRUCell`, over sequences; states are (h,)."""

    _rnn_mode, _cell_name = "gru", _GRU_CELL

    def _cell(self, prefix: str, rows: int) -> list[Any]:
        def add(name: str, shape: list[int], initializer: Any) -> Any:
            if len(shape) == 1:
                return self.add_weight(name, shape, initializer=self._bias_initializer)
            gates = shape[1] // self.num_units
            parts = (rows, self.num_units) if gates == 2 else (shape[0],)
            return self.add_weight(name, shape, initializer=self._gates(parts, gates))

        return _gru_variables(add, prefix, rows, self.num_units, None)

    def _step(self, place: int, x: Any, h: Any) -> tuple[Any, Any]:
        return _gru_step(self._cells[place], x, h)


class CudnnRNNTanh(_CudnnRNN):
    """h' = tanh([x, h] W + b), over whole sequences; the states are (h,)."""

    _rnn_mode, _cell_name = "rnn_tanh", "basic_rnn_cell"
    _activation: ClassVar[Any] = staticmethod(tf.tanh)

    def _cell(self, prefix: str, rows: int) -> list[Any]:
        units = self.num_units
        start = self._gates((rows, units), 1)
        return [
            self.add_weight(f"{prefix}kernel", [rows + units, units], initializer=start),
            self.add_weight(f"{prefix}bias", [units], initializer=self._bias_initializer),
        ]

    def _step(self, place: int, x: Any, h: Any) -> tuple[Any, Any]:
        kernel, bias = self._cells[place]
        new = self._activation(tf.matmul(tf.concat([x, h], 1), kernel) + bias)
        return new, new


class CudnnRNNRelu(CudnnRNNTanh):
    """h' = relu([x, h] W + b), over whole sequences; the states are (h,)."""

    _rnn_mode = "rnn_relu"
    _activation = staticmethod(tf.nn.relu)


__all__ = [
    "CUDNN_RNN_BIDIRECTION",
    "CUDNN_RNN_UNIDIRECTION",
    "CudnnCompatibleGRUCell",
    "CudnnCompatibleLSTMCell",
    "CudnnGRU",
    "CudnnLSTM",
    "CudnnRNNRelu",
    "CudnnRNNTanh",
]
