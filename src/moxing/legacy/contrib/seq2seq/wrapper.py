"""A cell with attention: mechanisms read memories, and the cell uses the result."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.legacy.contrib.rnn.cell import Cell
from moxing.legacy.contrib.seq2seq.attention import dense

_FIELDS = (
    "cell_state",
    "attention",
    "time",
    "alignments",
    "alignment_history",
    "attention_state",
)


class AttentionWrapperState(namedtuple("AttentionWrapperState", _FIELDS)):
    """The state of an `AttentionWrapper`."""

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Returns the state with some fields replaced by values of the same shapes."""

        def shaped(old: Any, new: Any) -> Any:
            if isinstance(old, tf.Tensor) and isinstance(new, tf.Tensor):
                old.shape.assert_is_compatible_with(new.shape)
                new = tf.identity(new)
                new.set_shape(old.shape)
            return new

        checked = {
            name: tf.nest.map_structure(shaped, getattr(self, name), value)
            for name, value in kwargs.items()
        }
        return self._replace(**checked)


class AttentionWrapper(Cell):
    """A cell that reads its inputs and the last attention, and outputs the next attention."""

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:
        """Wraps a cell.

        Args:
            cell: an RNN cell.
            attention_mechanism: a mechanism, or a list of mechanisms.
            attention_layer_size: the size of the attention, or a list of sizes, one for each
                mechanism; by default, the attention is the context itself, without a layer.
            alignment_history: whether the state keeps the alignments of all steps.
            cell_input_fn: a function of (inputs, attention); concatenates both by default.
            output_attention: whether the output is the attention, not the cell's output.
            initial_cell_state: the cell's state in `zero_state`; None: the cell's own zero state.
            name: the name of the cell; `attention_wrapper` by default.
            attention_layer: a layer, or a list with a layer for each mechanism, in place of
                attention_layer_size.
            attention_fn: a function of (mechanism, cell output, attention state, layer);
                `compute_attention` by default.
            dtype: the dtype of the attention layers.

        Raises:
            MoxValueError: there is not one size or layer for each mechanism, or both are given.
        """
        super().__init__(name=name)
        several = isinstance(attention_mechanism, (list, tuple))
        mechanisms = tuple(attention_mechanism) if several else (attention_mechanism,)
        for mechanism in mechanisms:
            if not callable(mechanism) or not hasattr(mechanism, "alignments_size"):
                raise MoxTypeError(
                    "attention_mechanism must be an AttentionMechanism or list of multiple"
                    f" AttentionMechanism, not {type(mechanism).__name__}."
                )
        if attention_layer_size is not None and attention_layer is not None:
            raise MoxValueError("Only one of attention_layer_size and attention_layer may be set.")
        self._is_multi, self._attention_mechanisms, self._cell = several, mechanisms, cell
        self._cell_input_fn = cell_input_fn or (lambda x, attention: tf.concat([x, attention], -1))
        self._attention_fn = attention_fn or compute_attention
        self._output_attention, self._alignment_history = output_attention, alignment_history
        self._initial_cell_state = initial_cell_state
        layers = _layers(attention_layer_size, attention_layer, len(mechanisms), dtype)
        # Programs' own wrappers read these attributes by the names that TensorFlow gave them.
        self._attention_layers = None if layers[0] is None else layers
        self._attention_layer_size = sum(map(_attention_width, mechanisms, layers))

    def _item_or_tuple(self, values: Sequence[Any]) -> Any:
        return tuple(values) if self._is_multi else next(iter(values))

    def _batch_size_checks(self, batch_size: Any, error_message: str) -> list[Any]:
        """The assertions that the memories have this number of sequences."""
        return [
            tf.assert_equal(batch_size, mechanism.batch_size, message=error_message)
            for mechanism in self._attention_mechanisms
        ]

    @property
    def output_size(self) -> Any:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        sizes = [mechanism.alignments_size for mechanism in self._attention_mechanisms]
        history = [size if self._alignment_history else () for size in sizes]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=tf.TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(sizes),
            attention_state=self._item_or_tuple([m.state_size for m in self._attention_mechanisms]),
            alignment_history=self._item_or_tuple(history),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns the state before the first step."""
        with tf.name_scope(f"{type(self).__name__}ZeroState"):
            if self._initial_cell_state is not None:
                cell_state = tf.nest.map_structure(tf.identity, self._initial_cell_state)
            else:
                cell_state = self._cell.zero_state(batch_size, dtype)
            starts = [m.initial_alignments(batch_size, dtype) for m in self._attention_mechanisms]
            attention = tf.zeros([batch_size, self._attention_layer_size], dtype)
            attention.set_shape([None, self._attention_layer_size])
            history = [self._history(dtype, start) for start in starts]
            states = [m.initial_state(batch_size, dtype) for m in self._attention_mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=tf.zeros([], tf.int32),
                attention=attention,
                alignments=self._item_or_tuple(starts),
                attention_state=self._item_or_tuple(states),
                alignment_history=self._item_or_tuple(history),
            )

    def _history(self, dtype: Any, start: Any) -> Any:
        if not self._alignment_history:
            return ()
        return tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=start.shape)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Runs one step.

        Raises:
            MoxTypeError: the state is not an `AttentionWrapperState`.
        """
        if not isinstance(state, AttentionWrapperState):
            raise MoxTypeError(
                "Expected state to be instance of AttentionWrapperState. Received type"
                f" {type(state)} instead. Start from zero_state(batch_size, dtype)."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        cell_output, next_cell_state = self._cell(cell_inputs, state.cell_state)
        before, history = state.attention_state, state.alignment_history
        if not self._is_multi:
            before, history = (before,), (history,)
        attentions, alignments, states, histories = [], [], [], []
        layers = self._attention_layers or (None,) * len(self._attention_mechanisms)
        parts = zip(self._attention_mechanisms, before, layers, history, strict=True)
        for mechanism, old, layer, array in parts:
            attention, alignment, new = self._attention_fn(mechanism, cell_output, old, layer)
            attentions.append(attention)
            alignments.append(alignment)
            states.append(new)
            histories.append(array.write(state.time, alignment) if self._alignment_history else ())
        attention = tf.concat(attentions, 1)
        new_state = AttentionWrapperState(
            cell_state=next_cell_state,
            time=state.time + 1,
            attention=attention,
            alignments=self._item_or_tuple(alignments),
            attention_state=self._item_or_tuple(states),
            alignment_history=self._item_or_tuple(histories),
        )
        return (attention if self._output_attention else cell_output), new_state


def compute_attention(
    attention_mechanism: Any, cell_output: Any, attention_state: Any, attention_layer: Any
) -> tuple[Any, Any, Any]:
    """Returns a mechanism's attention, alignments and next state for a cell's output."""
    alignments, next_state = attention_mechanism(cell_output, state=attention_state)
    context = tf.squeeze(tf.matmul(alignments[:, None], attention_mechanism.values), [1])
    if attention_layer is None:
        return context, alignments, next_state
    attention = attention_layer(tf.concat([cell_output, context], 1))
    return attention, alignments, next_state


def _layers(sizes: Any, layers: Any, count: int, dtype: Any) -> tuple[Any, ...]:
    """Returns a layer, or None, for each mechanism."""
    given = layers if layers is not None else sizes
    if given is None:
        return (None,) * count
    several = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if len(several) != count:
        name = "attention_layer_size" if layers is None else "attention_layer"
        raise MoxValueError(
            f"If provided, {name} must contain exactly one entry per attention_mechanism, saw:"
            f" {len(several)} vs {count}"
        )
    if layers is not None:
        return several
    return tuple(dense(size, "attention_layer", dtype or tf.float32) for size in several)


def _attention_width(mechanism: Any, layer: Any) -> int:
    if layer is None:
        return int(mechanism.values.shape[-1])
    if hasattr(layer, "units"):
        return int(layer.units)
    return int(layer.compute_output_shape([None, None, 1])[-1])
