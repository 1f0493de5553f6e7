"""Reads the metrics that evaluations have written for TensorBoard."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

import tensorflow.compat.v1 as tf

from moxing.engine.remote.path_alias import local_path

_EVENTS = "*.tfevents.*"


def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, float]]:
    """Returns the metrics of each evaluation by global step, in the order of steps.

    Args:
        eval_dir: the directory of the evaluations' summaries, such as `Estimator.eval_dir()`.
    """
    return of_files(glob.glob(os.path.join(glob.escape(local_path(eval_dir)), _EVENTS)))


def of_files(paths: Iterable[str]) -> dict[int, dict[str, float]]:
    """Returns the scalars of event files by global step; a later value replaces an earlier one."""
    found: dict[int, dict[str, float]] = {}
    for path in sorted(paths):
        try:
            for event in tf.train.summary_iterator(path):
                for value in event.summary.value:
                    if value.HasField("simple_value"):
                        found.setdefault(event.step, {})[value.tag] = value.simple_value
        except tf.errors.DataLossError:
            continue  # The writer was killed: keep the events before the torn record.
    return dict(sorted(found.items()))
