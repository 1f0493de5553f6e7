"""Input functions of `tf.contrib.timeseries`: windows of a series, and the series as a whole."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.estimator.canned import series
from moxing.legacy.contrib.timeseries.readers import TIMES, TimeSeriesReader, WholeReader

_Features = dict[str, tf.Tensor]


class TimeSeriesInputFn(abc.ABC):
    """An input function that is made of a reader."""

    @abc.abstractmethod
    def create_batch(self) -> tuple[_Features, None]:
        """Returns the features, of shapes [batch size, window size, ...], and no labels."""

    def __call__(self) -> tuple[_Features, None]:
        return self.create_batch()


class WholeDatasetInputFn(TimeSeriesInputFn):
    """One batch with the whole series, without end.

    Args:
        time_series_reader: the reader of the series.
    """

    def __init__(self, time_series_reader: TimeSeriesReader) -> None:
        self._reader = time_series_reader

    def create_batch(self) -> tuple[_Features, None]:
        """Returns the series with a batch dimension of 1 in front."""
        whole = self._reader.read_full()
        return {name: value[None, ...] for name, value in whole.items()}, None


class RandomWindowInputFn(TimeSeriesInputFn):
    """Batches of windows at random places of the series, without end.

    Args:
        time_series_reader: the reader of the series.
        window_size: the number of consecutive steps of a window.
        batch_size: the number of windows of a batch.
        queue_capacity_multiplier, shuffle_min_after_dequeue_multiplier, num_threads: accepted, as
            each window is drawn from the whole series.
        discard_out_of_order: leave windows out whose times decrease, as where a file ends and an
            earlier time follows; False: such windows are sorted by time.
        discard_consecutive_batches_limit: so many windows for each window of a batch are drawn
            in vain before a run ends with an error.
        jitter: whether a window may start at any step; False: at multiples of window_size.
        shuffle_seed: a seed of the places.
    """

    def __init__(
        self,
        time_series_reader: TimeSeriesReader,
        window_size: int,
        batch_size: int,
        queue_capacity_multiplier: int = 1000,
        shuffle_min_after_dequeue_multiplier: int = 2,
        discard_out_of_order: bool = True,
        discard_consecutive_batches_limit: int = 1000,
        jitter: bool = True,
        num_threads: int | None = 2,
        shuffle_seed: int | None = None,
    ) -> None:
        del queue_capacity_multiplier, shuffle_min_after_dequeue_multiplier, num_threads
        time_series_reader.check_dataset_size(minimum_dataset_size=window_size)
        self._reader = time_series_reader
        self._size = window_size
        self._batch = batch_size
        self._ordered_only = discard_out_of_order
        self._limit = discard_consecutive_batches_limit
        self._jitter = jitter
        self._seed = shuffle_seed

    def create_batch(self) -> tuple[_Features, None]:
        """Returns the windows of a batch, others at each run of the graph."""
        if not isinstance(self._reader, WholeReader):
            # A reader of the program's own has tensors, which a dataset may not capture.
            return self._drawn(self._reader.read_full()), None
        drawn = self._reader.dataset().repeat().map(self._drawn)
        return tf.data.make_one_shot_iterator(drawn.prefetch(1)).get_next(), None

    def _drawn(self, whole: Mapping[str, tf.Tensor]) -> _Features:
        """A batch of windows of the series."""
        steps = self._starts(tf.cast(whole[TIMES], tf.int64))[:, None] + tf.range(self._size)
        found = {name: tf.gather(value, steps) for name, value in whole.items()}
        if not self._ordered_only:
            order = tf.argsort(found[TIMES], axis=1, stable=True)
            found = {
                name: tf.gather(value, order, axis=1, batch_dims=1) for name, value in found.items()
            }
        for value in found.values():
            value.set_shape([self._batch, self._size, *value.shape[2:]])
        return found

    def _starts(self, times: tf.Tensor) -> tf.Tensor:
        """The first steps of the windows of a batch."""
        stride = 1 if self._jitter else self._size
        all_starts = tf.range(0, tf.size(times) - self._size + 1, stride)
        if self._ordered_only:
            # falls[k] is the number of places up to step k where a time is below the one before.
            falls = tf.cumsum(tf.pad(tf.cast(times[1:] < times[:-1], tf.int32), [[1, 0]]))
            ends = tf.gather(falls, all_starts + self._size - 1)
            all_starts = tf.boolean_mask(all_starts, tf.equal(ends, tf.gather(falls, all_starts)))
        enough = tf.Assert(
            tf.size(all_starts) > 0,
            [
                f"no window of {self._size} steps has times that do not decrease. "
                "Ask for shorter windows, or give a longer series; its steps:",
                tf.size(times),
            ],
        )
        with tf.control_dependencies([enough]):
            count = tf.size(all_starts)
        chosen = tf.random.uniform([self._batch], maxval=count, dtype=tf.int32, seed=self._seed)
        return tf.gather(all_starts, chosen)


def predict_continuation_input_fn(
    evaluation: Mapping[str, Any],
    steps: int | None = None,
    times: Any = None,
    exogenous_features: Mapping[str, Any] | None = None,
) -> Callable[[], tuple[Any, None]]:
    """An input function for predictions that begin where an evaluation ended.

    Args:
        evaluation: the result of `evaluate`, with the state of the model.
        steps: how many steps to predict after the last time of the evaluation; or
        times: the times to predict, of shape [steps] or [batch size, steps].
        exogenous_features: further features of those times.

    Raises:
        ValueError: neither or both of steps and times are given, or the times are not after those
            of the evaluation.
    """
    keys = series.load("feature_keys")
    wanted = series.load("model_utils").canonicalize_times_or_steps_from_output(
        times=times, steps=steps, previous_model_output=evaluation
    )
    features = {
        keys.PredictionFeatures.STATE_TUPLE: evaluation[keys.FilteringResults.STATE_TUPLE],
        keys.PredictionFeatures.TIMES: wanted,
        **(exogenous_features or {}),
    }

    def input_fn() -> tuple[Any, None]:
        # A list is one tensor to a dataset, and a structure to the model.
        once = tf.data.Dataset.from_tensors(_tuples(features))
        return tf.data.make_one_shot_iterator(once).get_next(), None

    return input_fn


def _tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _tuples(inner) for name, inner in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return tuple(_tuples(inner) for inner in value)
    return value
