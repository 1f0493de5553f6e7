"""Beam search: keeps the best partial sequences of each example (Wu et al. 2016, section 7)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.legacy.contrib.seq2seq.decoding import Decoder
from moxing.legacy.contrib.seq2seq.helpers import embedding_function
from moxing.legacy.contrib.seq2seq.trees import gather_tree, gather_tree_from_array
from moxing.legacy.contrib.seq2seq.wrapper import AttentionWrapperState

_STATE = ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs")
_OUTPUT = ("scores", "predicted_ids", "parent_ids")
_FINAL = ("predicted_ids", "beam_search_decoder_output")


class BeamSearchDecoderState(namedtuple("BeamSearchDecoderState", _STATE)):
    """The state of the search; each field has the shape [batch, beams, ...]."""


class BeamSearchDecoderOutput(namedtuple("BeamSearchDecoderOutput", _OUTPUT)):
    """The outputs of a step; each field has the shape [batch, beams]."""


class FinalBeamSearchDecoderOutput(namedtuple("FinalBeamSearchDecoderOutput", _FINAL)):
    """Whole sequences [time, batch, beams], the best first, and every step's outputs."""


class BeamSearchDecoder(Decoder):
    """Decodes the `beam_width` most likely sequences."""

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        """Starts from a state of all beams.

        Args:
            cell: an RNN cell.
            embedding: a matrix, or a function of ids.
            start_tokens: the first ids, of shape [batch].
            end_token: an id.
            initial_state: the cell's initial state, [batch * beam_width, ...]; see `tile_batch`.
            beam_width: the number of beams.
            output_layer: a layer from the cell's outputs to logits; None: no layer.
            length_penalty_weight: 0 for none.
            coverage_penalty_weight: the weight for the cell, an `AttentionWrapper`; 0 for none.
            reorder_tensor_arrays: whether an alignment history is put in the order of the final
                sequences.

        Raises:
            MoxTypeError: the output layer is not a layer.
            MoxValueError: the start tokens are not a vector.
        """
        if output_layer is not None and not hasattr(output_layer, "compute_output_shape"):
            raise MoxTypeError(f"output_layer must be a layer, not {type(output_layer).__name__}.")
        self._cell, self._embed = cell, embedding_function(embedding)
        self._output_layer, self._beams = output_layer, beam_width
        self._start_tokens = tf.cast(start_tokens, tf.int32)
        if self._start_tokens.shape.ndims != 1:
            raise MoxValueError("start_tokens must be a vector")
        self._end_token = tf.cast(end_token, tf.int32)
        if self._end_token.shape.ndims != 0:
            raise MoxValueError("end_token must be a scalar")
        self._length_weight, self._coverage_weight = (
            length_penalty_weight,
            coverage_penalty_weight,
        )
        self._reorder = reorder_tensor_arrays
        self._batch_size = self._start_tokens.shape[0] or tf.size(self._start_tokens)
        self._dtype = tf.nest.flatten(initial_state)[0].dtype
        self._initial_state = tf.nest.map_structure(self._split, initial_state)

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """True: another beam may replace a finished beam."""
        return True

    @property
    def output_size(self) -> Any:
        shape = tf.TensorShape([self._beams])
        return BeamSearchDecoderOutput(shape, shape, shape)

    @property
    def output_dtype(self) -> Any:
        return BeamSearchDecoderOutput(self._dtype, tf.int32, tf.int32)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Returns the start; all beams are equal at first, so only the first beam counts."""
        shape = [self._batch_size, self._beams]
        zeros = tf.zeros([self._batch_size], tf.int32)
        first = tf.one_hot(zeros, self._beams, True, False, dtype=tf.bool)
        finished = tf.logical_not(first)
        nothing = tf.fill(shape, tf.cast(-float("inf"), self._dtype))
        log_probs = tf.where(first, tf.zeros(shape, self._dtype), nothing)
        tokens = tf.tile(self._start_tokens[:, None], [1, self._beams])
        self._start_inputs = self._embed(tokens)
        state = BeamSearchDecoderState(
            cell_state=self._initial_state,
            log_probs=log_probs,
            finished=finished,
            lengths=tf.zeros(shape, tf.int64),
            accumulated_attention_probs=self._no_attention(),
        )
        return finished, self._start_inputs, state

    def _no_attention(self) -> Any:
        if self._coverage_weight == 0.0:
            return ()
        return tf.zeros_like(self._attention(self._initial_state))

    def _attention(self, cell_state: Any) -> Any:
        """Returns a step's alignments [batch, beams, memories] of all mechanisms."""
        if not isinstance(cell_state, AttentionWrapperState):
            raise MoxValueError(
                "coverage_penalty_weight needs an AttentionWrapper as the cell, whose state says"
                " what was attended to."
            )
        alignments = cell_state.alignments
        return tf.add_n(list(alignments)) if isinstance(alignments, tuple) else alignments

    def step(self, time: Any, inputs: Any, state: Any, name: Any = None) -> tuple[Any, ...]:
        """Runs a step of the cell for all beams, and chooses the best continuations."""
        with tf.name_scope(name, "BeamSearchDecoderStep", [time, inputs, state]):
            cell_inputs = tf.nest.map_structure(self._merge, inputs)
            cell_state = tf.nest.map_structure(self._merge, state.cell_state)
            outputs, next_cell_state = self._cell(cell_inputs, cell_state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            logits = self._split(outputs)
            next_cell_state = tf.nest.map_structure(self._split, next_cell_state)
            output, next_state = self._choose(logits, next_cell_state, state)
            next_inputs = tf.cond(
                tf.reduce_all(next_state.finished),
                lambda: self._start_inputs,
                lambda: self._embed(output.predicted_ids),
            )
        return output, next_state, next_inputs, next_state.finished

    def _choose(self, logits: Any, cell_state: Any, state: Any) -> tuple[Any, Any]:
        vocabulary = logits.shape[-1] or tf.shape(logits)[-1]
        steps = self._of_finished(tf.nn.log_softmax(logits), state.finished, vocabulary)
        totals = state.log_probs[..., None] + steps
        grown = tf.one_hot(self._end_token, vocabulary, 0, 1, dtype=tf.int64)
        grown *= tf.cast(tf.logical_not(state.finished), tf.int64)[..., None]
        lengths = state.lengths[..., None] + grown
        attended = state.accumulated_attention_probs
        scores = totals / length_penalty(lengths, self._length_weight, self._dtype)
        if self._coverage_weight != 0.0:
            attention = self._attention(cell_state)
            going = tf.cast(tf.logical_not(state.finished), attention.dtype)[..., None]
            attended = attended + attention * going
            covered = tf.reduce_sum(tf.log(tf.minimum(attended, 1.0)), 2)
            scores += self._coverage_weight * covered[..., None]
        flat = tf.reshape(scores, [self._batch_size, -1])
        best, places = tf.nn.top_k(flat, self._beams)
        words, parents = places % vocabulary, places // vocabulary

        def of_parents(values: Any) -> Any:
            return self._gather(values, parents)

        ended = of_parents(state.finished)
        log_probs = tf.gather(tf.reshape(totals, [self._batch_size, -1]), places, batch_dims=1)
        shape = [self._start_tokens.shape[0], self._beams]
        for tensor in (best, words, parents, log_probs):
            tensor.set_shape(shape)
        next_state = BeamSearchDecoderState(
            cell_state=tf.nest.map_structure(of_parents, cell_state),
            log_probs=log_probs,
            finished=tf.logical_or(ended, tf.equal(words, self._end_token)),
            lengths=of_parents(state.lengths) + tf.cast(tf.logical_not(ended), tf.int64),
            accumulated_attention_probs=() if isinstance(attended, tuple) else of_parents(attended),
        )
        return BeamSearchDecoderOutput(best, words, parents), next_state

    def _of_finished(self, log_probs: Any, finished: Any, vocabulary: Any) -> Any:
        """Lets finished beams continue with the end token only, at no cost."""
        lowest = log_probs.dtype.min
        only_end = tf.one_hot(self._end_token, vocabulary, 0.0, lowest, dtype=log_probs.dtype)
        wide = tf.tile(finished[..., None], [1, 1, vocabulary])
        return tf.where(wide, tf.zeros_like(log_probs) + only_end, log_probs)

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Returns whole sequences, by the parents of each step's beams."""
        longest = tf.cast(tf.reduce_max(final_state.lengths, 1), tf.int32)
        words = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder:
            lengths = final_state.lengths

            def sorted_history(part: Any) -> Any:
                if not isinstance(part, tf.TensorArray):
                    return part
                return gather_tree_from_array(part.stack(), outputs.parent_ids, lengths)

            cell_state = tf.nest.map_structure(sorted_history, final_state.cell_state)
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(words, outputs), final_state

    def _split(self, values: Any) -> Any:
        """Reshapes [batch * beams, ...] to [batch, beams, ...], except scalars and TensorArrays."""
        if isinstance(values, tf.TensorArray) or values.shape.ndims == 0:
            return values
        rest = values.shape[1:]
        shape = tf.concat([[self._batch_size, self._beams], tf.shape(values)[1:]], 0)
        parts = tf.reshape(values, shape)
        batch = self._batch_size if isinstance(self._batch_size, int) else None
        parts.set_shape([batch, self._beams, *rest])
        return parts

    def _merge(self, values: Any) -> Any:
        """Reshapes [batch, beams, ...] to [batch * beams, ...], except scalars and TensorArrays."""
        if isinstance(values, tf.TensorArray) or values.shape.ndims == 0:
            return values
        rest = values.shape[2:]
        whole = tf.reshape(values, tf.concat([[-1], tf.shape(values)[2:]], 0))
        batch = self._batch_size
        whole.set_shape([batch * self._beams if isinstance(batch, int) else None, *rest])
        return whole

    def _gather(self, values: Any, parents: Any) -> Any:
        """Selects the values of each beam's parent, except in scalars and TensorArrays."""
        if isinstance(values, tf.TensorArray) or values.shape.ndims == 0:
            return values
        found = tf.gather(values, parents, batch_dims=1)
        found.set_shape(values.shape)
        return found


def length_penalty(lengths: Any, weight: Any, dtype: Any = tf.float32) -> Any:
    """Returns ((5 + length) / 6) ** weight (Wu et al. 2016, equation 14)."""
    return tf.pow((5.0 + tf.cast(lengths, dtype)) / 6.0, tf.cast(weight, dtype))


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Repeats each example `multiplier` times: [batch, ...] becomes [batch * multiplier, ...].

    Args:
        t: a tensor, or a structure of tensors.
        multiplier: the number of beams.
        name: the name of the operations.

    Raises:
        MoxValueError: a tensor has an unknown rank, or is a scalar.
    """

    def tiled(values: Any) -> Any:
        values = tf.convert_to_tensor(values)
        if not values.shape.ndims:
            raise MoxValueError(f"tile_batch needs [batch, ...], not the shape {values.shape}.")
        result = tf.repeat(values, multiplier, axis=0)
        batch = tf.dimension_value(values.shape[0])
        result.set_shape([None if batch is None else batch * multiplier, *values.shape[1:]])
        return result

    with tf.name_scope(name, "tile_batch", [*tf.nest.flatten(t), multiplier]):
        return tf.nest.map_structure(tiled, t)
