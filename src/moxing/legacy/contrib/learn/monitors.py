"""`tf.contrib.learn.monitors`: evaluation during training, and hooks under their old names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.estimator.running import checkpoints
from moxing.estimator.running.evaluations import evaluate
from moxing.legacy.contrib.learn.inputs import input_fn_of
from moxing.logs import TENSORFLOW


class ValidationMonitor(tf.train.SessionRunHook):
    """Evaluates new checkpoints during training, and stops it when a metric no longer improves.

    Args:
        x, y, input_fn, batch_size: see `tf.contrib.learn.Estimator.evaluate`.
        eval_steps: the number of batches; None: all the data.
        every_n_steps: the least number of steps between two evaluations. Only checkpoints are
            evaluated, so RunConfig's schedule says how often there is a new one.
        metrics: more metrics, see `tf.contrib.learn.Estimator.evaluate`.
        hooks: called around every step of an evaluation.
        early_stopping_rounds: training stops after this many steps without a better value; None:
            it does not stop early.
        early_stopping_metric: the name of the metric that is compared.
        early_stopping_metric_minimize: whether a smaller value is better.
        name: the name of the evaluation.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Mapping[Any, Any] | None = None,
        hooks: Sequence[Any] | None = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
    ) -> None:
        self._input_fn = input_fn_of("evaluate", x, y, input_fn, batch_size, trains=False)
        self._steps, self._every, self._metrics = eval_steps, every_n_steps, metrics
        self._hooks, self._name = tuple(hooks or ()), name
        self._rounds = early_stopping_rounds
        self._metric = early_stopping_metric
        self._sign = 1 if early_stopping_metric_minimize else -1
        self._estimator: Any = None
        self._last = 0
        self._stops = False
        self.best_step: int | None = None
        self.best_value: Any = None
        self.best_metrics: dict[str, Any] | None = None
        self.listener: tf.train.CheckpointSaverListener = _Listener(self)

    @property
    def early_stopped(self) -> bool:
        """Whether this monitor stopped the training."""
        return self._stops

    def set_estimator(self, estimator: Any) -> None:
        """Names the Estimator whose checkpoints are evaluated."""
        self._estimator = estimator
        self._last = checkpoints.step(estimator.latest_checkpoint())

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._stops:
            run_context.request_stop()

    def saved(self, step: int) -> None:
        """Evaluates the checkpoint of a step, if one is due."""
        if step - self._last < self._every or self._stops:
            return
        self._last = step
        estimator = self._estimator
        # `Estimator.evaluate` would wait for the other processes, which go on training.
        with estimator._with_metrics(self._metrics):
            values = evaluate(
                estimator,
                estimator._adapted(self._input_fn),
                self._steps,
                self._hooks,
                estimator.latest_checkpoint(),
                self._name,
            )
        shown = ", ".join(f"{name} = {value}" for name, value in sorted(values.items()))
        TENSORFLOW.info("Validation (step %d): %s", step, shown)
        if self._rounds is None:
            return
        value = values[self._metric]
        if self.best_value is None or self._sign * value < self._sign * self.best_value:
            self.best_value, self.best_step, self.best_metrics = value, step, values
        assert self.best_step is not None
        if step - self.best_step >= self._rounds:
            TENSORFLOW.info(
                "Stopping. Best step: %d with %s = %s.",
                self.best_step,
                self._metric,
                self.best_value,
            )
            self._stops = True


class _Listener(tf.train.CheckpointSaverListener):
    def __init__(self, monitor: ValidationMonitor) -> None:
        self._monitor = monitor

    def after_save(self, session: Any, global_step_value: int) -> None:
        self._monitor.saved(int(global_step_value))


def PrintTensor(  # noqa: N802, the name that programs know
    tensor_names: Any, every_n: int = 100, first_n: int = 1
) -> Any:
    """Returns a hook that logs tensors."""
    del first_n
    return tf.train.LoggingTensorHook(tensor_names, every_n_iter=every_n)


def NanLoss(  # noqa: N802
    loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True
) -> Any:
    """Returns a hook that ends the training when the loss is no number."""
    del every_n_steps
    return tf.train.NanTensorHook(loss_tensor, fail_on_nan_loss)


def StepCounter(
    every_n_steps: int = 100, output_dir: Any = None, summary_writer: Any = None
) -> Any:  # noqa: N802, E501
    """Returns a hook that counts steps per second."""
    return tf.train.StepCounterHook(
        every_n_steps, output_dir=output_dir, summary_writer=summary_writer
    )


def StopAtStep(num_steps: int | None = None, last_step: int | None = None) -> Any:  # noqa: N802
    """Returns a hook that ends the training at a step."""
    return tf.train.StopAtStepHook(num_steps, last_step)


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """Returns the monitors, which are hooks here."""
    del estimator
    return list(monitors_or_hooks or ())
