"""Hooks that evaluate during training, to print metrics or to stop when they stop improving.

They need `mox.run(inter_mode=mox.ModeKeys.EVAL)`, which builds input_fn and model_fn a second time
on the trained variables. The second input restarts for each evaluation, so that all evaluations
see the same samples.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint import best as bests
from moxing.engine.checkpoint.best import BestCheckpoint
from moxing.engine.job.ranking import Ranking, grows
from moxing.engine.loop import run_state
from moxing.engine.loop.means import Means
from moxing.engine.model import averages, inter_evaluation
from moxing.engine.process import team
from moxing.engine.reporting.records import recorder as recorders
from moxing.engine.wording import report
from moxing.errors import MoxValueError
from moxing.flags import rehearsal, saving
from moxing.logs import TENSORFLOW
from moxing.tensorflow.executor import monitor as monitors
from moxing.tensorflow.executor.arguments import check_count
from moxing.tensorflow.executor.hooks import AggregativeSessionRunHook


class LogEvaluationMetricHook(AggregativeSessionRunHook):
    """Evaluates at an interval of epochs, and prints the mean of each metric over all samples.

    The first evaluation follows local step `ceil(samples_in_train / batch_size) *
    evaluate_every_n_epochs - 1`, and each evaluation runs `ceil(samples_in_eval / batch_size)`
    batches. With several devices or synchronous workers, an epoch has fewer steps, because each
    step takes one batch per device. The chief evaluates, and all workers act on its values.

    Args:
        monitor_info: scalar tensors by name, such as {"loss": loss, "accuracy": accuracy}.
        batch_size: the number of samples in a batch.
        samples_in_train: the number of samples in an epoch of training.
        samples_in_eval: the number of samples in an evaluation.
        evaluate_every_n_epochs: the number of epochs between evaluations.
        prefix: the start of the log line.
        save_best: the name in monitor_info of the metric whose best checkpoint is kept in
            `<log_dir>/best`; True: the metric that the hook monitors, or the only one. False: no
            checkpoint is kept. `mox run --keep-best` overrides it.

    Raises:
        MoxTypeError, MoxValueError: an argument is invalid.
        MoxKeyError: save_best is not in monitor_info.
    """

    def __init__(
        self,
        monitor_info: Mapping[str, tf.Tensor],
        batch_size: int,
        samples_in_train: int,
        samples_in_eval: int,
        evaluate_every_n_epochs: int = 1,
        prefix: str = "[VALIDATION METRICS]",
        save_best: str | bool = False,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self._monitored = monitors.checked(owner, monitor_info)
        batch = check_count("batch_size", batch_size, 1)
        in_train = check_count("samples_in_train", samples_in_train, 1)
        in_eval = check_count("samples_in_eval", samples_in_eval, 1)
        epochs = check_count("evaluate_every_n_epochs", evaluate_every_n_epochs, 1)
        self._in_train, self._batch, self._epochs = in_train, batch, epochs
        self._period = math.ceil(in_train / batch) * epochs
        self._batches = math.ceil(in_eval / batch)
        self._prefix = str(prefix)
        self._save_best = monitors.best_metric(owner, save_best, self._monitored)
        self._best_checkpoint: BestCheckpoint | None = None
        self._step = 0
        self._seconds = 0.0
        self._evaluations = 0

    def run_inter_mode(self) -> bool:
        return True

    def begin(self) -> None:
        in_step = self._batch * inter_evaluation.batches_in_step()
        self._period = math.ceil(self._in_train / in_step) * self._epochs
        if rehearsal.wanted():
            self._period = self._batches = 1
        second = inter_evaluation.second_inputs()
        self._rewind = list(second.initializers) if second is not None else []
        samples = second.samples if second is not None else None
        self._samples = samples if isinstance(samples, int) else None
        self._fetches: dict[str, Any] = {"values": self._monitored}
        if isinstance(samples, tf.Tensor):
            self._fetches["samples"] = samples
        self.prepare()
        if self._save_best is not None and saving.best() is None:
            self._best_checkpoint = self._keeper(self._save_best)

    def prepare(self) -> None:
        """Called before the graph is final; a subclass may make variables."""

    def after_run(self, run_context: tf.train.SessionRunContext, run_values: Any) -> None:
        del run_values
        self._step += 1
        if self._step % self._period == 0:
            values = team.of_chief(lambda: self._evaluate(run_context.session))
            if not values:
                return
            TENSORFLOW.info("%s", report.hook_line(self._prefix, self._step - 1, values))
            self.evaluated(values, run_context)
            best = self._best_checkpoint or bests.of_graph()
            if best is not None:
                best.offer(run_context.session, values)

    def evaluated(
        self, values: Mapping[str, float], run_context: tf.train.SessionRunContext
    ) -> None:
        """Called after each evaluation with the mean metrics; a subclass may act on them."""

    def end(self, session: tf.Session) -> None:
        del session
        if self._evaluations:
            spent = report.duration(self._seconds)
            times = "1 evaluation" if self._evaluations == 1 else f"{self._evaluations} evaluations"
            TENSORFLOW.info("%s %s took %s", self._prefix, times, spent)
        if self._best_checkpoint is not None:
            self._best_checkpoint.folder.say(self._prefix)

    def _keeper(self, metric: str) -> BestCheckpoint | None:
        where = inter_evaluation.log_dir()
        if not where.is_chief:
            return None
        if where.path is None:
            raise MoxValueError(
                f"{type(self).__name__}: save_best={metric!r} needs a directory to save into: pass"
                " log_dir to mox.run."
            )
        return BestCheckpoint(where.path, Ranking(metric, asked_by="save_best"))

    def _evaluate(self, session: tf.Session) -> dict[str, float]:
        with averages.shown(session):
            return self._mean_values(session)

    def _mean_values(self, session: tf.Session) -> dict[str, float]:
        started = time.perf_counter()
        means = Means()
        session.run(self._rewind)
        for done in range(self._batches):
            try:
                batch = session.run(self._fetches)
            except tf.errors.OutOfRangeError:
                TENSORFLOW.warning(
                    "%s the evaluation input ended after %d of %d batches; samples_in_eval is more"
                    " than it has.",
                    self._prefix,
                    done,
                    self._batches,
                )
                break
            samples = batch.get("samples", self._samples)
            means.add(batch["values"], None if samples is None else int(samples))
        self._evaluations += 1
        seconds = time.perf_counter() - started
        self._seconds += seconds
        values, recorder = means.result(), recorders.of_graph()
        if recorder is not None:
            recorder.evaluated(self._prefix, values, means.samples, seconds)
        return values


class EarlyStoppingHook(LogEvaluationMetricHook):
    """Evaluates at an interval of epochs, and ends training when a metric stops improving.

    The first evaluation sets the best value. Training ends when `patience` consecutive evaluations
    do not improve on the best value by more than `min_delta`. A resumed run continues the count.

    Args:
        monitor_info, batch_size, samples_in_train, samples_in_eval, evaluate_every_n_epochs,
            save_best: see `LogEvaluationMetricHook`.
            monitor: the name in monitor_info of the metric. If the name contains "acc", "auc" or
                "f1", higher is better; otherwise, lower is better.
            min_delta: the change that an improvement must exceed.
            patience: the number of consecutive evaluations without improvement that end training.
            prefix: the start of log lines.

    Raises:
        MoxKeyError: monitor is not in monitor_info.
    """

    def __init__(
        self,
        monitor_info: Mapping[str, tf.Tensor],
        monitor: str,
        batch_size: int,
        samples_in_train: int,
        samples_in_eval: int,
        evaluate_every_n_epochs: int = 1,
        min_delta: float = 0.0,
        patience: int = 0,
        prefix: str = "[EarlyStopping]",
        save_best: str | bool = False,
    ) -> None:
        monitors.check(type(self).__name__, monitor, monitor_info)
        super().__init__(
            monitor_info,
            batch_size,
            samples_in_train,
            samples_in_eval,
            evaluate_every_n_epochs,
            prefix,
            monitor if save_best is True else save_best,
        )
        self._monitor = monitor
        self._delta = abs(float(min_delta))
        self._patience = check_count("patience", patience, 0)
        self._sign = 1.0 if grows(monitor) else -1.0
        self._best: float | None = None
        self._waited = 0

    def prepare(self) -> None:
        # The elements: whether there is a best value, that value, and the evaluations since then.
        self._state = run_state.variable("early_stopping", [0.0, 0.0, 0.0], tf.float64)

    def after_create_session(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        del coord
        known, best, waited = (float(value) for value in session.run(self._state))
        self._best, self._waited = (best if known else None), int(waited)

    def evaluated(
        self, values: Mapping[str, float], run_context: tf.train.SessionRunContext
    ) -> None:
        if self._monitor not in values:
            return
        value = self._sign * values[self._monitor]
        beaten = self._best is None or value > self._best + self._delta
        if beaten and math.isfinite(value):
            self._best, self._waited = value, 0
        else:
            self._waited += 1
            if self._waited >= self._patience:
                run_context.request_stop()
        best = 0.0 if self._best is None else self._best
        kept = [float(self._best is not None), best, self._waited]
        run_state.write(self._state, kept, run_context.session)
