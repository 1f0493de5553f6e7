"""Evaluates a checkpoint, and writes its metrics for TensorBoard."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.graph import graph_keras
from moxing.engine.remote.path_alias import local_path
from moxing.engine.reporting.records import recorder as recorders
from moxing.engine.reporting.summaries import Merged, SummaryWriter
from moxing.estimator.described import Described
from moxing.estimator.running import checkpoints, jobs
from moxing.flags import rehearsal
from moxing.framework import file
from moxing.logs import TENSORFLOW


def evaluate(
    estimator: Described,
    input_fn: Callable[..., Any],
    steps: int | None,
    hooks: Sequence[tf.train.SessionRunHook],
    checkpoint_path: str | None,
    name: str | None,
) -> dict[str, Any]:
    """Returns the metrics of a checkpoint by name, with "loss" and "global_step"."""
    results: dict[str, Any] = {}
    job = jobs.evaluation(estimator, input_fn, steps, hooks, checkpoint_path, results)
    training = recorders.of_graph()
    if training is None and checkpoint_path and checkpoint_path == estimator.latest_unsaid():
        # The log_dir puts the run into the metrics and the report of the model's directory.
        job = dataclasses.replace(job.starting_from(None), log_dir=estimator.model_dir)
    with graph_keras.shown():
        done = rehearsal.execute(lambda: job)
    step = done.global_step or checkpoints.step(checkpoint_path)
    values = {"loss": done.metrics["loss"], **results}
    shown = {key: value for key, value in sorted(values.items()) if _is_number(value)}
    TENSORFLOW.info(
        "Evaluation%s of step %d: %s",
        f" {name!r}" if name else "",
        step,
        ", ".join(f"{key} = {float(value):.6g}" for key, value in shown.items()),
    )
    if training is not None:
        training.evaluated(name or "", _numbers(shown), None, done.seconds, after=step)
    _summarize(local_path_of(estimator, name), step, shown)
    estimator.best.offer(checkpoint_path, name, shown)
    return {**values, "global_step": step}


def _is_number(value: Any) -> bool:
    return not isinstance(value, list | tuple | dict) and np.ndim(value) == 0


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


def local_path_of(estimator: Described, name: str | None) -> str:
    """Returns the local directory of an evaluation's summaries."""
    below = os.path.relpath(estimator.eval_dir(name), estimator.model_dir)
    return os.path.join(local_path(estimator.model_dir), below)


def _summarize(directory: str, step: int, values: dict[str, Any]) -> None:
    if file.is_remote(directory):
        return
    writer = SummaryWriter(directory, tf.Graph(), Merged(), None)
    for key, value in values.items():
        writer.scalar(step, key, value)
    writer.close()
