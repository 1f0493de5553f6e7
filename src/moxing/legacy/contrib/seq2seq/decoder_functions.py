"""`tf.contrib.seq2seq` of TensorFlow 0.12 and 1.0: decoders made of decoder functions.

A decoder function gets the time, and the state, the input and the output of the cell; it returns
which sequences are done, the next state and input, the output to emit, and a context.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError

DecoderFn = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any, Any, Any, Any]]


def dynamic_rnn_decoder(
    cell: Any,
    decoder_fn: DecoderFn,
    inputs: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """Runs a cell with a decoder function, over inputs or over the function's own choices.

    Args:
        cell: the RNN cell.
        decoder_fn: the decoder function.
        inputs: in training, a tensor [batch, time, depth]; None lets `decoder_fn` make the inputs.
        sequence_length: an integer tensor [batch]: where sequences end for which `decoder_fn`
            returns None as what is done; None with inputs is their whole length.
        parallel_iterations: how many steps may run at once; None is 32.
        swap_memory: whether tensors of a GPU may wait in the host's memory.
        time_major: whether inputs and outputs are [time, batch, depth].
        scope: the variable scope of the cell.
        name: the name of the operations.

    Returns:
        The outputs [batch, time, depth], the final state, and the final context, which is None
        where `decoder_fn` returns none.

    Raises:
        MoxValueError: inputs have fewer than two dimensions, or neither the inputs, the function
            nor `sequence_length` say where a sequence ends.
    """
    with tf.name_scope(name, "dynamic_rnn_decoder"):
        steps = None if inputs is None else _Steps(inputs, time_major)
        if steps is not None and sequence_length is None:
            sequence_length = tf.fill([steps.batch], steps.count)

        def loop(time: Any, output: Any, state: Any, carried: Any) -> tuple[Any, ...]:
            context = carried[1] if isinstance(carried, tuple) else None
            given = None if steps is None else steps.read(time, first=state is None)
            done, state, following, emitted, context = decoder_fn(
                time, state, given, output, context
            )
            if done is None:
                if sequence_length is None:
                    raise MoxValueError(
                        "dynamic_rnn_decoder: the decoder function returned None for the sequences"
                        " that are done, and there are no inputs: give sequence_length."
                    )
                done = time >= tf.cast(sequence_length, tf.int32)
            return done, following, state, emitted, done if context is None else (done, context)

        array, state, carried = tf.nn.raw_rnn(
            cell,
            loop,
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
            scope=scope,
        )
        outputs = array.stack()
        if not time_major:
            outputs = _swapped(outputs)
        return outputs, state, carried[1] if isinstance(carried, tuple) else None


class _Steps:
    """The inputs of a decoder, read step by step; zeros after the last step."""

    def __init__(self, inputs: Any, time_major: bool) -> None:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is not None and rank < 2:
            raise MoxValueError(
                "dynamic_rnn_decoder: inputs must have at least two dimensions, batch and time:"
                f" they have the shape {inputs.shape}."
            )
        if not time_major:
            inputs = _swapped(inputs)
        shape = tf.shape(inputs)
        fixed = inputs.shape.as_list()
        self.count = shape[0] if fixed[0] is None else fixed[0]
        self.batch = shape[1] if fixed[1] is None else fixed[1]
        self._static = inputs.shape[1:]
        self._shape = shape[1:]
        self._array = tf.TensorArray(inputs.dtype, size=self.count).unstack(inputs)

    def read(self, time: Any, first: bool) -> Any:
        if first:
            return self._array.read(0)
        value = tf.cond(
            tf.equal(time, self.count),
            lambda: tf.zeros(self._shape, self._array.dtype),
            lambda: self._array.read(time),
        )
        value.set_shape(self._static)
        return value


def _swapped(tensor: Any) -> Any:
    """A tensor with its first two dimensions, batch and time, the other way round."""
    rank = tensor.shape.ndims
    return tf.transpose(tensor, [1, 0, *range(2, rank)])


def simple_decoder_fn_train(encoder_state: Any, name: str | None = None) -> DecoderFn:
    """A decoder function of training: the encoder's state, then the inputs as they come."""
    del name

    def decoder_fn(time: Any, state: Any, given: Any, output: Any, context: Any) -> Any:
        del time
        return None, encoder_state if state is None else state, given, output, context

    return decoder_fn


def simple_decoder_fn_inference(
    output_fn: Callable[[Any], Any] | None,
    encoder_state: Any,
    embeddings: Any,
    start_of_sequence_id: Any,
    end_of_sequence_id: Any,
    maximum_length: Any,
    num_decoder_symbols: int,
    dtype: tf.DType = tf.int32,
    name: str | None = None,
) -> DecoderFn:
    """A decoder function that feeds each step the likeliest symbol of the step before.

    Args:
        output_fn: makes logits [batch, num_decoder_symbols] from the cell's output; None where
            the output already is logits.
        encoder_state: the first state.
        embeddings: a tensor [num_decoder_symbols, depth].
        start_of_sequence_id: the first symbol.
        end_of_sequence_id: the symbol that ends a sequence.
        maximum_length: the time after which every sequence ends.
        num_decoder_symbols: how many symbols there are.
        dtype: the integer type of symbols.
        name: has no effect.
    """
    del name
    greedy = _Greedy(output_fn, encoder_state, embeddings, start_of_sequence_id, dtype)
    limits = (end_of_sequence_id, maximum_length, num_decoder_symbols)

    def decoder_fn(time: Any, state: Any, given: Any, output: Any, context: Any) -> Any:
        _check_no_input("simple_decoder_fn_inference", given)
        done, following, logits = greedy.step(time, output, *limits)
        return done, encoder_state if state is None else state, following, logits, context

    return decoder_fn


def attention_decoder_fn_train(
    encoder_state: Any,
    attention_keys: Any,
    attention_values: Any,
    attention_score_fn: Any,
    attention_construct_fn: Callable[[Any, Any, Any], Any],
    name: str | None = None,
) -> DecoderFn:
    """A decoder function of training with attention; the arguments are `prepare_attention`'s.

    The cell's input is the input of the step beside the attention of the step before, and what the
    decoder emits is the attention.
    """
    del attention_score_fn, name

    def decoder_fn(time: Any, state: Any, given: Any, output: Any, context: Any) -> Any:
        del time
        if state is None:
            state, attention = encoder_state, _no_attention(encoder_state)
        else:
            attention = attention_construct_fn(output, attention_keys, attention_values)
            output = attention
        return None, state, tf.concat([given, attention], 1), output, context

    return decoder_fn


def attention_decoder_fn_inference(
    output_fn: Callable[[Any], Any] | None,
    encoder_state: Any,
    attention_keys: Any,
    attention_values: Any,
    attention_score_fn: Any,
    attention_construct_fn: Callable[[Any, Any, Any], Any],
    embeddings: Any,
    start_of_sequence_id: Any,
    end_of_sequence_id: Any,
    maximum_length: Any,
    num_decoder_symbols: int,
    dtype: tf.DType = tf.int32,
    name: str | None = None,
) -> DecoderFn:
    """`simple_decoder_fn_inference` with attention; `output_fn` gets the attention."""
    del attention_score_fn, name
    greedy = _Greedy(output_fn, encoder_state, embeddings, start_of_sequence_id, dtype)
    limits = (end_of_sequence_id, maximum_length, num_decoder_symbols)

    def decoder_fn(time: Any, state: Any, given: Any, output: Any, context: Any) -> Any:
        _check_no_input("attention_decoder_fn_inference", given)
        attention = _no_attention(encoder_state)
        if output is not None:
            attention = attention_construct_fn(output, attention_keys, attention_values)
            output = attention
        done, following, logits = greedy.step(time, output, *limits)
        state = encoder_state if state is None else state
        return done, state, tf.concat([following, attention], 1), logits, context

    return decoder_fn


class _Greedy:
    """The choice of the likeliest symbol at each step."""

    def __init__(
        self, output_fn: Any, encoder_state: Any, embeddings: Any, start: Any, dtype: tf.DType
    ) -> None:
        self._output_fn = output_fn or (lambda output: output)
        first = tf.nest.flatten(encoder_state)[0]
        self._batch = first.shape.as_list()[0] or tf.shape(first)[0]
        self._embeddings = embeddings
        self._start = start
        self._dtype = dtype

    def step(
        self, time: Any, output: Any, end: Any, maximum_length: Any, symbols: int
    ) -> tuple[Any, Any, Any]:
        """Returns which sequences are done, the embeddings of the next symbols, and the logits."""
        if output is None:
            ids = tf.fill([self._batch], tf.cast(self._start, self._dtype))
            done = tf.zeros([self._batch], tf.bool)
            logits: Any = tf.zeros([symbols], tf.float32)  # The shape of what one sequence emits.
        else:
            logits = self._output_fn(output)
            ids = tf.cast(tf.argmax(logits, 1), self._dtype)
            done = tf.equal(ids, tf.cast(end, self._dtype))
        over = tf.greater(tf.cast(time, tf.int32), tf.cast(maximum_length, tf.int32))
        return tf.logical_or(done, over), tf.gather(self._embeddings, ids), logits


def _check_no_input(function: str, given: Any) -> None:
    if given is not None:
        raise MoxValueError(
            f"{function} makes the inputs of the decoder itself: give dynamic_rnn_decoder no"
            f" inputs (it got {given})."
        )


def _no_attention(encoder_state: Any) -> Any:
    """Zeros of the shape of the top layer's output."""
    # The state of an LSTM is a tuple too: its last part, the output, has the right shape.
    return tf.zeros_like(tf.nest.flatten(encoder_state)[-1])


def prepare_attention(
    attention_states: Any, attention_option: str, num_units: int, reuse: bool | None = None
) -> tuple[Any, Any, Any, Any]:
    """Makes the four arguments of attention decoder functions.

    Args:
        attention_states: the encoder's outputs, a tensor [batch, time, depth].
        attention_option: "bahdanau", additive, or "luong", multiplicative.
        num_units: the size of queries, keys and attention.
        reuse: whether the variables exist already.

    Returns:
        The keys, the values, the function of the context, and the function of the attention.

    Raises:
        MoxValueError: `attention_option` is neither of the two.
    """
    with tf.variable_scope("attention_keys", reuse=reuse):
        keys = _linear(attention_states, num_units)
    score = _score("attention_score", num_units, attention_option, reuse)

    def construct(query: Any, keys: Any, values: Any) -> Any:
        with tf.variable_scope("attention_construct", reuse=reuse):
            return _linear(tf.concat([query, score(query, keys, values)], 1), num_units)

    return keys, attention_states, score, construct


def _linear(inputs: Any, units: int) -> Any:
    """tf.contrib.layers.linear without biases."""
    depth = inputs.shape.as_list()[-1]
    weights = tf.get_variable(
        "weights",
        [depth, units],
        inputs.dtype,
        tf.glorot_uniform_initializer(),
        collections=[tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES],
    )
    return tf.tensordot(inputs, weights, 1)


def _score(name: str, units: int, option: str, reuse: bool | None) -> Callable[..., Any]:
    if option not in ("bahdanau", "luong"):
        raise MoxValueError(
            f"prepare_attention: attention_option is {option!r}; it must be 'bahdanau' or 'luong'."
        )
    with tf.variable_scope(name, reuse=reuse):
        if option == "bahdanau":
            projection = tf.get_variable("attnW", [units, units], tf.float32)
            vector = tf.get_variable("attnV", [units], tf.float32)

    def context(query: Any, keys: Any, values: Any) -> Any:
        if option == "bahdanau":
            query = tf.expand_dims(tf.matmul(query, projection), 1)
            scores = tf.reduce_sum(vector * tf.tanh(keys + query), 2)
        else:
            scores = tf.reduce_sum(keys * tf.expand_dims(query, 1), 2)
        return tf.reduce_sum(tf.expand_dims(tf.nn.softmax(scores), 2) * values, 1)

    return context
