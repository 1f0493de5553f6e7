"""`train_and_evaluate`: trains, and evaluates both during and after training."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.cluster.cluster import EVALUATOR
from moxing.engine.graph import graph_keras
from moxing.engine.job.job import Job
from moxing.errors import MoxTypeError, shown
from moxing.estimator.estimator import Estimator
from moxing.estimator.evaluator import Patience, follow
from moxing.estimator.exports import Exports
from moxing.estimator.running import checkpoints, jobs, runtime, sharing
from moxing.estimator.running.evaluations import evaluate
from moxing.estimator.running.steps import total
from moxing.estimator.specs import EvalSpec, TrainSpec
from moxing.flags import rehearsal
from moxing.logs import TENSORFLOW

_SIGNALED = 128  # A process that a signal ends exits with this plus the signal's number.


def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """Trains an Estimator and evaluates its checkpoints, as this process's role in the job demands.

    A single process, or the chief of several, evaluates a new checkpoint at most every
    `eval_spec.throttle_secs` seconds while it trains, and the last checkpoint after training. If
    TF_CONFIG lists an evaluator, the evaluator process does so instead.

    Args:
        estimator: the Estimator to train.
        train_spec: how to train.
        eval_spec: how to evaluate.

    Returns:
        The metrics of the last evaluation, and a list of the exporters' directories; (None, []) in
        processes that do not evaluate.

    Raises:
        MoxError: the run is invalid, or fails.
        SystemExit: 143 after SIGTERM, 130 after Ctrl-C; 0 in a parameter server at its end.
    """
    for name, value, kind in (
        ("estimator", estimator, Estimator),
        ("train_spec", train_spec, TrainSpec),
        ("eval_spec", eval_spec, EvalSpec),
    ):
        if not isinstance(value, kind):
            raise MoxTypeError(
                f"train_and_evaluate has {name}={shown(value)}; it must be a"
                f" tf.estimator.{kind.__name__}."
            )
    cluster = runtime.cluster()
    exports = Exports(estimator, eval_spec.exporters)
    exports.check()
    if cluster is not None and cluster.job == EVALUATOR:
        group = runtime.group(estimator.config)
        limit = total(train_spec.max_steps, group)
        values = follow(
            estimator, limit, eval_spec, Patience(group.start_timeout), exports.evaluated
        )
        return values, exports.last(values)
    evaluates = (cluster is None or cluster.is_chief) and not _has_evaluator()
    evaluations = _Evaluations(estimator, eval_spec, exports)
    listeners = (*train_spec.saving_listeners, *((evaluations,) if evaluates else ()))

    def job() -> Job:
        return jobs.training(
            estimator,
            train_spec.input_fn,
            train_spec.max_steps,
            train_spec.hooks,
            listeners,
            again=False,
        )

    with sharing.training(), graph_keras.shown():
        rehearsal.execute(job)
    if not evaluates:
        return None, []
    values = evaluations.last()
    return values, exports.last(values)


def _has_evaluator() -> bool:
    """Whether TF_CONFIG, which was already validated, names an evaluator process."""
    text = os.environ.get("TF_CONFIG", "").strip()
    return bool(text) and bool(json.loads(text).get("cluster", {}).get(EVALUATOR))


class _Evaluations(tf.train.CheckpointSaverListener):
    """Evaluates checkpoints after their commit, at most every `spec.throttle_secs` seconds.

    Args:
        estimator: the Estimator whose checkpoints are evaluated.
        spec: how to evaluate.
        exports: called after each evaluation except the last one, after training.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        estimator: Estimator,
        spec: EvalSpec,
        exports: Exports,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._estimator, self._spec, self._exports, self._clock = estimator, spec, exports, clock
        self._started = clock()
        self._step: int | None = None
        self._values: dict[str, Any] | None = None

    def begin(self) -> None:
        self._started = self._clock()
        # The checkpoint that training starts from needs no evaluation.
        self._step = checkpoints.step(self._estimator.latest_unsaid())

    def after_save(self, session: Any, global_step_value: int) -> None:
        del session
        early = self._clock() - self._started < self._spec.throttle_secs
        if early or global_step_value == self._step:
            return
        try:
            path = self._evaluate(global_step_value)
            assert self._values is not None
            self._exports.evaluated(self._values, path)
        except SystemExit as end:
            if end.code not in (_SIGNALED + signal.SIGTERM, _SIGNALED + signal.SIGINT):
                raise
            # Send the signal again, so that the training stops as if it had come a little later.
            os.kill(os.getpid(), int(end.code) - _SIGNALED)

    def last(self) -> dict[str, Any]:
        """Returns the metrics of the newest checkpoint."""
        newest = checkpoints.step(self._estimator.latest_unsaid())
        if self._values is None or newest != self._step:
            self._evaluate(newest)
        assert self._values is not None
        return self._values

    def _evaluate(self, step: int) -> str:
        self._started, self._step = self._clock(), step
        estimator, spec = self._estimator, self._spec
        TENSORFLOW.info("Evaluating the checkpoint of step %d.", step)
        path = estimator.latest_unsaid()
        assert path is not None
        # `Estimator.evaluate` would wait for the other processes, which go on training.
        self._values = evaluate(estimator, spec.input_fn, spec.steps, spec.hooks, path, spec.name)
        return path
