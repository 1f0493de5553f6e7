"""Helpers that choose a `BasicDecoder`'s inputs: true inputs, own outputs, or a mixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


class Helper:
    """Chooses a decoder's inputs.

    `initialize()` returns (finished, first inputs); `sample(time, outputs, state)` ids;
    `next_inputs(time, outputs, state, sample_ids)` (finished, inputs, state).
    """

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise NotImplementedError

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a sample, without the batch."""
        raise NotImplementedError

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of a sample."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns the inputs of the first step."""
        raise NotImplementedError

    def sample(self, time: Any, outputs: Any, state: Any, name: Any = None) -> Any:
        """Returns ids for a step's outputs."""
        raise NotImplementedError

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Any = None
    ) -> tuple[Any, Any, Any]:
        """Returns the inputs of the next step."""
        raise NotImplementedError


class CustomHelper(Helper):
    """A helper made of three functions."""

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize_fn, self._sample_fn = initialize_fn, sample_fn
        self._next_inputs_fn, self._batch_size = next_inputs_fn, None
        self._shape = tf.TensorShape([] if sample_ids_shape is None else sample_ids_shape)
        self._dtype = sample_ids_dtype or tf.int32

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise MoxValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns the first function's result, whose `finished` gives the batch size."""
        with tf.name_scope(name, "CustomHelperInitialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = tf.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: Any = None) -> Any:
        """Returns the second function's result."""
        with tf.name_scope(name, "CustomHelperSample", [time, outputs, state]):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Any = None
    ) -> tuple[Any, Any, Any]:
        """Returns the third function's result."""
        with tf.name_scope(name, "CustomHelperNextInputs", [time, outputs, state]):
            return self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


class _Ids(Helper):
    """A helper whose samples are one integer for each sequence."""

    _batch_size: Any

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        return tf.int32


class TrainingHelper(_Ids):
    """Returns the true inputs up to the length of each sequence."""

    def __init__(
        self, inputs: Any, sequence_length: Any, time_major: bool = False, name: Any = None
    ) -> None:
        """Args: inputs: a tensor [batch, time, ...] or a structure. sequence_length: [batch]."""
        with tf.name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            self._inputs = inputs = tf.nest.map_structure(tf.convert_to_tensor, inputs)
            if not time_major:
                inputs = tf.nest.map_structure(_time_major, inputs)
            self._arrays = tf.nest.map_structure(_unstacked, inputs)
            self._sequence_length = tf.cast(sequence_length, tf.int32)
            if self._sequence_length.shape.ndims != 1:
                raise MoxValueError(
                    "Expected sequence_length to be a vector, but received shape:"
                    f" {self._sequence_length.shape}"
                )
            self._zero_inputs = tf.nest.map_structure(lambda x: tf.zeros_like(x[0]), inputs)
            self._batch_size = _static_or_not(self._sequence_length)

    @property
    def inputs(self) -> Any:
        """The inputs, as they were given."""
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        """The lengths, int32 [batch]."""
        return self._sequence_length

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns the first inputs; zeros if all sequences are empty."""
        with tf.name_scope(name, "TrainingHelperInitialize"):
            return self._at(tf.constant(0))

    def sample(self, time: Any, outputs: Any, state: Any, name: Any = None) -> Any:
        """Returns the best class."""
        with tf.name_scope(name, "TrainingHelperSample", [time, outputs]):
            return tf.argmax(outputs, -1, output_type=tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Any = None
    ) -> tuple[Any, Any, Any]:
        """Returns the inputs of the next step."""
        with tf.name_scope(name, "TrainingHelperNextInputs", [time, outputs, state]):
            finished, inputs = self._at(time + 1)
        return finished, inputs, state

    def _at(self, time: Any) -> tuple[Any, Any]:
        finished = time >= self._sequence_length
        inputs = tf.cond(
            tf.reduce_all(finished),
            lambda: self._zero_inputs,
            lambda: tf.nest.map_structure(lambda array: array.read(time), self._arrays),
        )
        return finished, inputs


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Randomly replaces true inputs by samples of the last outputs (Bengio et al. 2015)."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: Any = None,
    ) -> None:
        """Args: sampling_probability: a scalar. embedding: a matrix or a function of ids."""
        self._embed = embedding_function(embedding)
        self._probability = _probability(sampling_probability)
        self._seed, self._scheduling_seed = seed, scheduling_seed
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any, name: Any = None) -> Any:
        """Returns ids drawn from the outputs; -1 where the true input comes next."""
        with tf.name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs]):
            chosen = _chosen(outputs, self._probability, self._scheduling_seed)
            drawn = _drawn(outputs, self._seed)
            return tf.where(chosen, drawn, tf.fill(tf.shape(drawn), -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Any = None
    ) -> tuple[Any, Any, Any]:
        """Returns the next inputs, some of which are replaced by samples."""
        with tf.name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs"):
            finished, inputs = self._at(time + 1)
            sampled = self._embed(tf.maximum(sample_ids, 0))
            mixed = tf.where(sample_ids > -1, tf.cast(sampled, inputs.dtype), inputs)
            mixed.set_shape(inputs.shape)
        return finished, mixed, state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Randomly replaces true inputs by the last outputs (Bengio et al. 2015)."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Any = None,
        auxiliary_inputs: Any = None,
        name: Any = None,
    ) -> None:
        """Args: next_inputs_fn: a function of outputs. auxiliary_inputs: appended to inputs."""
        self._probability, self._seed = _probability(sampling_probability), seed
        self._next_inputs_fn, self._auxiliary = next_inputs_fn, None
        if auxiliary_inputs is not None:
            beside = tf.convert_to_tensor(auxiliary_inputs)
            self._auxiliary = _unstacked(beside if time_major else _time_major(beside))
            inputs = tf.nest.map_structure(lambda x: tf.concat([x, beside], -1), inputs)
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any, name: Any = None) -> Any:
        """Returns 1 where the outputs come next, and 0 where the true input comes next."""
        with tf.name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs]):
            return tf.cast(_chosen(outputs, self._probability, self._seed), tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Any = None
    ) -> tuple[Any, Any, Any]:
        """Returns the next inputs, some of which are replaced by outputs."""
        with tf.name_scope(name, "ScheduledOutputTrainingHelperNextInputs"):
            finished, inputs = self._at(time + 1)
            own = outputs if self._next_inputs_fn is None else self._next_inputs_fn(outputs)
            if self._auxiliary is not None:
                array = self._auxiliary
                last = tf.minimum(time + 1, array.size() - 1)
                own = tf.concat([own, array.read(last)], -1)
            mixed = tf.where(tf.cast(sample_ids, tf.bool), own, inputs)
            mixed.set_shape(inputs.shape)
        return finished, mixed, state


class GreedyEmbeddingHelper(_Ids):
    """Returns the vector of the last step's best class as the next input."""

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        """Args: embedding: a matrix or a function of ids. start_tokens: [batch]. end_token: id."""
        self._embed = embedding_function(embedding)
        self._start_tokens = tf.cast(start_tokens, tf.int32)
        self._end_token = tf.cast(end_token, tf.int32)
        if self._start_tokens.shape.ndims != 1:
            raise MoxValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise MoxValueError("end_token must be a scalar")
        self._batch_size = _static_or_not(self._start_tokens)
        self._start_inputs = self._embed(self._start_tokens)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns the vectors of the start tokens."""
        return tf.zeros([self._batch_size], tf.bool), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: Any = None) -> Any:
        """Returns the best class."""
        return tf.argmax(outputs, -1, output_type=tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Any = None
    ) -> tuple[Any, Any, Any]:
        """Returns the vectors of the samples; a sequence ends with the end token."""
        finished = tf.equal(sample_ids, self._end_token)
        inputs = tf.cond(
            tf.reduce_all(finished),
            lambda: self._start_inputs,
            lambda: self._embed(sample_ids),
        )
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Returns the vector of a class that is drawn from the last step's outputs."""

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: Any = None) -> Any:
        """Draws a class by its probability; a high temperature makes probabilities more even."""
        logits = outputs if self._temperature is None else outputs / self._temperature
        return _drawn(logits, self._seed)


class InferenceHelper(Helper):
    """A helper made of functions: from outputs to samples, from samples to ends and inputs."""

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        """Args: next_inputs_fn: a function of samples; by default, samples are the inputs."""
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._sample_shape, self._sample_dtype = tf.TensorShape(sample_shape), sample_dtype
        self._start_inputs = tf.convert_to_tensor(start_inputs)
        self._batch_size = tf.shape(self._start_inputs)[0]

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        return self._sample_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns the start inputs."""
        return tf.zeros([self._batch_size], tf.bool), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: Any = None) -> Any:
        """Returns the first function's result."""
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Any = None
    ) -> tuple[Any, Any, Any]:
        """Calls the user's functions to make the next inputs from the samples."""
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state


def embedding_function(embedding: Any) -> Callable[[Any], Any]:
    """Returns a function from ids to vectors, given such a function or a matrix."""
    if callable(embedding):
        return embedding
    return lambda ids: tf.nn.embedding_lookup(embedding, ids)


def _unstacked(values: Any) -> Any:
    shape = values.shape[1:]
    array = tf.TensorArray(
        values.dtype, tf.shape(values)[0], element_shape=shape, clear_after_read=False
    )
    return array.unstack(values)


def _time_major(values: Any) -> Any:
    if values.shape.ndims is None:
        raise MoxValueError("TrainingHelper needs inputs of a known number of dimensions.")
    return tf.transpose(values, [1, 0, *range(2, values.shape.ndims)])


def _static_or_not(vector: Any) -> Any:
    static = tf.dimension_value(vector.shape[0])
    return tf.size(vector) if static is None else static


def _probability(value: Any) -> Any:
    value = tf.convert_to_tensor(value, tf.float32)
    if value.shape.ndims not in (0, 1):
        raise MoxValueError(
            f"sampling_probability must be a scalar or a vector, not {value.shape}."
        )
    return value


def _chosen(outputs: Any, probability: Any, seed: int | None) -> Any:
    """Returns, for each sequence, whether it takes a sample."""
    return tf.random_uniform(tf.shape(outputs)[:1], seed=seed) < probability


def _drawn(logits: Any, seed: int | None) -> Any:
    ids = tf.random.categorical(logits, 1, seed=seed, dtype=tf.int32)
    return tf.reshape(ids, [-1])
