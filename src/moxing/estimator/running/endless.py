"""Refuses evaluations known to have no end, and logs the progress of long ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import structure
from moxing.engine.wording import report
from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW

_EVERY_SECONDS = 60.0
_KEEPING = (
    *("_MapDataset", "_ParallelMapDataset", "_BatchDataset", "_ParallelBatchDataset"),
    *("_PaddedBatchDataset", "_PrefetchDataset", "_ShuffleDataset", "_OptionsDataset"),
)


def refuse(inputs: Any) -> Any:
    """Returns the result of an input function whose data is evaluated to the end.

    Raises:
        MoxValueError: the inputs are a Dataset that TensorFlow knows to be infinite.
    """
    if (
        structure.is_dataset(inputs)
        and _cardinality(inputs) == tf.data.experimental.INFINITE_CARDINALITY
    ):
        raise MoxValueError(
            "The Dataset to evaluate on has no end, and steps=None asks for all of it. Pass steps="
            " of tf.estimator.EvalSpec or of evaluate, or leave .repeat() out of its input_fn."
        )
    return inputs


def _cardinality(dataset: Any) -> int | None:
    """Returns the cardinality of a dataset of the current graph; negative or None: special cases.

    Negative values are TensorFlow's constants for infinite and unknown cardinality; None means that
    the cardinality depends on a variable or a table that is not initialized yet.
    """
    size = tf.data.experimental.cardinality(_source(dataset))
    try:
        with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as session:
            return int(session.run(size))
    except tf.errors.OpError:
        return None


def _source(dataset: Any) -> Any:
    """Returns the dataset behind the transformations that end when their input ends.

    TensorFlow's own cardinality is unknown after a `map` of TensorFlow 1, whose function might end
    the data.
    """
    while True:
        inner = getattr(dataset, "_dataset", dataset)
        behind = inner._inputs()
        if type(inner).__name__ not in _KEEPING or len(behind) != 1:
            return dataset
        dataset = behind[0]


class Patience(tf.train.SessionRunHook):
    """A hook that logs the progress of a long evaluation without a limit.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._batches = 0

    def begin(self) -> None:
        self._started = self._said = self._clock()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        del run_context, run_values
        self._batches += 1
        now = self._clock()
        if now - self._said >= _EVERY_SECONDS:
            self._said = now
            TENSORFLOW.info(
                "The evaluation has seen %d batches in %s and goes on to the end of its data;"
                " steps= limits it.",
                self._batches,
                report.duration(now - self._started),
            )
