"""Runs a decoder, step by step, until all its sequences are finished."""

from __future__ import annotations

import contextlib
from collections import namedtuple
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError


class Decoder:
    """The interface of decoders for `dynamic_decode`: initialize, step, finalize.

    `initialize()` returns (finished, first inputs, initial state); `step(time, inputs, state)`
    returns (outputs, next state, next inputs, finished).
    """

    @property
    def batch_size(self) -> Any:
        """The number of sequences that are decoded."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The shape of a step's outputs, without the batch."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The types of a step's outputs."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether a finished sequence may continue, as in a beam search."""
        return False

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Returns the first step's inputs and state."""
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any, name: Any = None) -> tuple[Any, ...]:
        """Runs one step."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Makes the result from all outputs [time, batch, ...] and the last state."""
        raise NotImplementedError


class BasicDecoderOutput(namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))):
    """The cell's outputs of a step, and the helper's samples from these outputs."""


class BasicDecoder(Decoder):
    """Decodes with a cell whose inputs a helper chooses."""

    def __init__(
        self, cell: Any, helper: Any, initial_state: Any, output_layer: Any = None
    ) -> None:
        """Args: output_layer: a `tf.layers.Layer` from the cell's outputs to logits, if any."""
        if output_layer is not None and not hasattr(output_layer, "compute_output_shape"):
            raise MoxTypeError(f"output_layer must be a layer, not {type(output_layer).__name__}.")
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        return BasicDecoderOutput(self._rnn_output_size(), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        dtype = tf.nest.flatten(self._initial_state)[0].dtype
        outputs = tf.nest.map_structure(lambda _: dtype, self._rnn_output_size())
        return BasicDecoderOutput(outputs, self._helper.sample_ids_dtype)

    def _rnn_output_size(self) -> Any:
        size = self._cell.output_size
        if self._output_layer is None:
            return size
        layer = self._output_layer

        def shape(part: Any) -> Any:
            return layer.compute_output_shape(tf.TensorShape([None]).concatenate(part))[1:]

        return tf.nest.map_structure(shape, size)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Returns the helper's first inputs, and the initial state."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: Any = None) -> tuple[Any, ...]:
        """Runs a step of the cell, and lets the helper choose the next inputs."""
        with tf.name_scope(name, "BasicDecoderStep", [time, inputs, state]):
            outputs, new_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            sample_ids = self._helper.sample(time=time, outputs=outputs, state=new_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=new_state, sample_ids=sample_ids
            )
        return BasicDecoderOutput(outputs, sample_ids), next_state, next_inputs, finished


def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
    **kwargs: Any,
) -> tuple[Any, Any, Any]:
    """Decodes until every sequence is finished.

    Args:
        decoder: a `Decoder`.
        output_time_major: whether outputs are [time, batch, ...], not [batch, time, ...].
        impute_finished: whether the outputs of a finished sequence are zeros, and its state stays.
        maximum_iterations: the maximum number of steps, a scalar; no limit by default.
        parallel_iterations: the number of the loop's iterations that may run in parallel.
        swap_memory: whether a GPU's tensors may wait in the host's memory.
        scope: the variable scope; `decoder` by default.
        **kwargs: arguments of `decoder.initialize`; openmox's decoders have none.

    Returns:
        The outputs of all steps, the last state, and the number of steps of each sequence, int32
        [batch].

    Raises:
        MoxTypeError: `decoder` is not a decoder.
    """
    if not (hasattr(decoder, "step") and hasattr(decoder, "initialize")):
        raise MoxTypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}.")
    with tf.variable_scope(scope, "decoder"):
        loop = _Loop(decoder, impute_finished, maximum_iterations, kwargs)
        _, arrays, state, _, _, lengths = tf.while_loop(
            lambda *now: tf.logical_not(tf.reduce_all(now[4])),
            loop.step,
            loop.start(),
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        outputs = tf.nest.map_structure(lambda array: array.stack(), arrays)
        # A decoder without a `finalize` raises this error.
        with contextlib.suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = tf.nest.map_structure(_batch_major, outputs)
    return outputs, state, lengths


class _Loop:
    """The loop's start and step; it carries (time, arrays, state, inputs, finished, lengths)."""

    def __init__(self, decoder: Any, impute: bool, limit: Any, options: dict[str, Any]) -> None:
        self._decoder, self._impute, self._options = decoder, impute, options
        self._limit = None if limit is None else tf.cast(limit, tf.int32)

    def start(self) -> tuple[Any, ...]:
        decoder = self._decoder
        finished, inputs, state = decoder.initialize(**self._options)
        if self._limit is not None:
            finished = tf.logical_or(finished, self._limit <= 0)
        lengths = tf.zeros_like(finished, tf.int32)
        self._zeros = tf.nest.map_structure(self._zero, decoder.output_size, decoder.output_dtype)
        arrays = tf.nest.map_structure(self._array, decoder.output_size, decoder.output_dtype)
        state = tf.nest.map_structure(_as_tensor, state)
        return tf.constant(0), arrays, state, inputs, finished, lengths

    def _zero(self, size: Any, dtype: Any) -> Any:
        return tf.zeros([self._decoder.batch_size, *tf.TensorShape(size).as_list()], dtype)

    def _array(self, size: Any, dtype: Any) -> Any:
        batch = tf.get_static_value(tf.convert_to_tensor(self._decoder.batch_size))
        shape = tf.TensorShape([batch]).concatenate(size)
        return tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape)

    def step(
        self, time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any
    ) -> tuple[Any, ...]:
        outputs, new_state, new_inputs, now = self._decoder.step(time, inputs, state)
        if not getattr(self._decoder, "tracks_own_finished", False):
            now = tf.logical_or(now, finished)
        if self._limit is not None:
            now = tf.logical_or(now, time + 1 >= self._limit)
        tf.nest.assert_same_structure(state, new_state)
        tf.nest.assert_same_structure(self._decoder.output_dtype, outputs)
        if self._impute:
            outputs = tf.nest.map_structure(
                lambda new, zero: _rows(finished, zero, new), outputs, self._zeros
            )
            new_state = tf.nest.map_structure(
                lambda new, old: _kept(finished, old, new), new_state, state
            )
        arrays = tf.nest.map_structure(
            lambda array, value: array.write(time, value), arrays, outputs
        )
        lengths = tf.where(finished, lengths, tf.fill(tf.shape(lengths), time + 1))
        return time + 1, arrays, new_state, new_inputs, now, lengths


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, tf.TensorArray) else tf.convert_to_tensor(value)


def _kept(finished: Any, old: Any, new: Any) -> Any:
    """Keeps the old state of finished sequences; values that all sequences share change."""
    if isinstance(new, tf.TensorArray) or new.shape.ndims == 0:
        return new
    return _rows(finished, old, new)


def _rows(finished: Any, yes: Any, no: Any) -> Any:
    chosen = tf.where(finished, yes, no)
    chosen.set_shape(no.shape)
    return chosen


def _batch_major(values: Any) -> Any:
    if values.shape.ndims is not None and values.shape.ndims < 2:
        return values
    rest = tf.range(2, tf.rank(values))
    turned = tf.transpose(values, tf.concat([[1, 0], rest], 0))
    shape = values.shape
    if shape.ndims is not None:
        turned.set_shape([shape[1], shape[0], *shape[2:]])
    return turned
