"""`tf.contrib.legacy_seq2seq`, `tf.nn.seq2seq` before 1.0: decoders unrolled over lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.rnn.cell import unbuilt
from moxing.legacy.contrib.rnn.linear import linear
from moxing.legacy.contrib.rnn.wrappers import EmbeddingWrapper, OutputProjectionWrapper
from moxing.legacy.contrib.seq2seq.legacy_attention import attention_decoder
from moxing.legacy.contrib.seq2seq.losses import list_sequence_loss as sequence_loss
from moxing.legacy.contrib.seq2seq.losses import sequence_loss_by_example

__all__ = [
    "attention_decoder",
    "basic_rnn_seq2seq",
    "embedding_attention_decoder",
    "embedding_attention_seq2seq",
    "embedding_rnn_decoder",
    "embedding_rnn_seq2seq",
    "embedding_tied_rnn_seq2seq",
    "linear",
    "model_with_buckets",
    "one2many_rnn_seq2seq",
    "rnn_decoder",
    "sequence_loss",
    "sequence_loss_by_example",
    "tied_rnn_seq2seq",
]

Decoded = tuple[Any, Any]


def _argmax_loop(
    embedding: Any, output_projection: Any = None, update_embedding: bool = True
) -> Callable[[Any, Any], Any]:
    """Returns a loop function that looks up the embedding of the last output's best class."""

    def loop_function(output: Any, _: Any) -> Any:
        if output_projection is not None:
            weights, biases = output_projection
            output = tf.nn.xw_plus_b(output, weights, biases)
        rows = tf.nn.embedding_lookup(embedding, tf.argmax(output, 1))
        return rows if update_embedding else tf.stop_gradient(rows)

    return loop_function


_extract_argmax_and_embed = _argmax_loop


def rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Any = None,
    scope: Any = None,
) -> Decoded:
    """Runs a cell over a list of inputs.

    Args:
        decoder_inputs: a list of tensors of shape [batch, n].
        initial_state: the initial state of the cell.
        cell: an RNN cell.
        loop_function: a function of (output, step) that returns every input except the first,
            instead of the list.
        scope: the variable scope; `rnn_decoder` by default.

    Returns:
        A list of outputs of shape [batch, m], and the last state.
    """
    outputs: list[Any] = []
    with tf.variable_scope(scope or "rnn_decoder"):
        state = initial_state
        for step, given in enumerate(decoder_inputs):
            inputs = given
            if loop_function is not None and outputs:
                with tf.variable_scope("loop_function", reuse=True):
                    inputs = loop_function(outputs[-1], step)
            if step:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(inputs, state)
            outputs.append(output)
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> Decoded:
    """Runs an RNN encoder, and from its last state an `rnn_decoder` with separate weights."""
    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = tf.nn.static_rnn(unbuilt(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: Any = None,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> Decoded:
    """Runs an encoder and a decoder that share their weights."""
    with tf.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = tf.nn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        tf.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope)


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> Decoded:
    """Runs `rnn_decoder` over ids, which a variable `embedding` maps to vectors.

    Args:
        decoder_inputs: a list of id tensors of shape [batch].
        initial_state: the initial state of the cell.
        cell: an RNN cell.
        num_symbols: the number of ids.
        embedding_size: the size of the vectors.
        output_projection: a pair (weights, biases) that maps outputs to symbols.
        feed_previous: whether each input except the first is the best symbol of the last output.
        update_embedding_for_previous: whether gradients reach the vectors of these symbols.
        scope: the variable scope; `embedding_rnn_decoder` by default.
    """
    with tf.variable_scope(scope or "embedding_rnn_decoder") as opened:
        _check_projection(output_projection, opened.dtype, None, num_symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = None
        if feed_previous:
            loop = _argmax_loop(embedding, output_projection, update_embedding_for_previous)
        vectors = [tf.nn.embedding_lookup(embedding, ids) for ids in decoder_inputs]
        return rnn_decoder(vectors, initial_state, cell, loop_function=loop)


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Decoded:
    """Runs an encoder of ids and an `embedding_rnn_decoder`.

    `feed_previous` may be a boolean tensor.
    """
    with tf.variable_scope(scope or "embedding_rnn_seq2seq") as opened:
        if dtype is not None:
            opened.set_dtype(dtype)
        encoder = EmbeddingWrapper(unbuilt(cell), num_encoder_symbols, embedding_size)
        _, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(feed: bool) -> Decoded:
            return embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection,
                feed,
            )

        return _decoded(decode, feed_previous)


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Decoded:
    """Runs `tied_rnn_seq2seq` over ids, with one embedding for encoder and decoder."""
    with tf.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as opened:
        dtype, symbols = opened.dtype, num_decoder_symbols or num_symbols
        _check_projection(output_projection, dtype, None, symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size], dtype)
        encoded = [tf.nn.embedding_lookup(embedding, ids) for ids in encoder_inputs]
        vectors = [tf.nn.embedding_lookup(embedding, ids) for ids in decoder_inputs]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, symbols)

        def decode(feed: bool) -> Decoded:
            loop = _argmax_loop(embedding, output_projection) if feed else None
            return tied_rnn_seq2seq(encoded, vectors, cell, loop, dtype)

        return _decoded(decode, feed_previous)


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """Runs `attention_decoder` over ids; see `embedding_rnn_decoder`."""
    size = cell.output_size if output_size is None else output_size
    with tf.variable_scope(scope or "embedding_attention_decoder", dtype=dtype) as opened:
        _check_projection(output_projection, opened.dtype, size, num_symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = None
        if feed_previous:
            loop = _argmax_loop(embedding, output_projection, update_embedding_for_previous)
        vectors = [tf.nn.embedding_lookup(embedding, ids) for ids in decoder_inputs]
        return attention_decoder(
            vectors,
            initial_state,
            attention_states,
            cell,
            output_size=size,
            num_heads=num_heads,
            loop_function=loop,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """Runs an encoder of ids, and a decoder that attends to its outputs (Vinyals et al. 2014)."""
    with tf.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(unbuilt(cell), num_encoder_symbols, embedding_size)
        outputs, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        attention_states = tf.stack(outputs, 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(feed: bool) -> Decoded:
            return embedding_attention_decoder(
                decoder_inputs,
                state,
                attention_states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=feed,
                initial_state_attention=initial_state_attention,
            )

        return _decoded(decode, feed_previous)


def one2many_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs_dict: dict[str, Sequence[Any]],
    enc_cell: Any,
    dec_cells_dict: dict[str, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: dict[str, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Runs an encoder, and a decoder for each name; returns dicts of outputs and states."""
    outputs: dict[str, Any] = {}
    states: dict[str, Any] = {}
    with tf.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        for name, decoder_inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with tf.variable_scope(f"one2many_decoder_{name}"):
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)

                def decode(feed: bool, ids: Any = decoder_inputs, of: Any = (cell, symbols)) -> Any:
                    return embedding_rnn_decoder(
                        ids, state, of[0], of[1], embedding_size, feed_previous=feed
                    )

                outputs[name], states[name] = _decoded(decode, feed_previous)
    return outputs, states


def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], Decoded],
    softmax_loss_function: Any = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """Unrolls a model for each bucket, a pair of lengths, with shared variables.

    Args:
        encoder_inputs: a list as long as the longest bucket's encoder.
        decoder_inputs: a list as long as the longest bucket's decoder.
        targets: a list of id tensors of shape [batch].
        weights: a list of tensors of shape [batch].
        buckets: pairs (encoder length, decoder length), the shortest first.
        seq2seq: a function of (encoder inputs, decoder inputs) that returns outputs and states.
        softmax_loss_function: see `sequence_loss`.
        per_example_loss: whether each loss has the shape [batch] instead of being a scalar.
        name: the name of the operations.

    Returns:
        A list of the outputs and a list of the losses, by bucket.

    Raises:
        MoxValueError: a list is shorter than the last bucket.
    """
    longest = buckets[-1]
    lists = {
        "encoder_inputs": (encoder_inputs, longest[0]),
        "targets": (targets, longest[1]),
        "weights": (weights, longest[1]),
    }
    for called, (values, least) in lists.items():
        if len(values) < least:
            raise MoxValueError(
                f"Length of {called} ({len(values)}) must be at least that of the last bucket"
                f" ({least})."
            )
    losses, outputs = [], []
    everything = [*encoder_inputs, *decoder_inputs, *targets, *weights]
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with tf.name_scope(name, "model_with_buckets", everything):
        for index, (source, target) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if index else None):
                found, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(found)
                losses.append(
                    loss(
                        found,
                        targets[:target],
                        weights[:target],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses


def _decoded(decode: Callable[[bool], Decoded], feed_previous: Any) -> Decoded:
    """Returns the decoder's outputs and state; a tensor `feed_previous` selects one of two."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)
    shapes: list[Any] = []

    def branch(feed: bool) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            reuse = None if feed else True
            with tf.variable_scope(tf.get_variable_scope(), reuse=reuse):
                outputs, state = decode(feed)
            shapes.append((len(outputs), state))
            return [*outputs, *tf.nest.flatten(state)]

        return run

    found = tf.cond(feed_previous, branch(True), branch(False))
    count, state = shapes[0]
    return found[:count], tf.nest.pack_sequence_as(state, found[count:])


def _check_projection(projection: Any, dtype: Any, rows: int | None, symbols: int) -> None:
    if projection is None:
        return
    weights, biases = (tf.convert_to_tensor(part, dtype) for part in projection)
    weights.shape.assert_is_compatible_with([rows, symbols])
    biases.shape.assert_is_compatible_with([symbols])
