"""`tf.contrib.learn.Experiment` and `learn_runner`: training with evaluation of an Estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, near_matches, shown
from moxing.estimator.estimator import Estimator
from moxing.estimator.serving.exporters import Exporter
from moxing.estimator.specs import EvalSpec, TrainSpec
from moxing.estimator.training import train_and_evaluate
from moxing.legacy.contrib.learn.estimator import LearnMethods
from moxing.legacy.contrib.learn.exports import ExportStrategy

_NEVER_SECS = 10**9  # Seconds, so that only the last checkpoint is evaluated.


class Experiment:
    """An Estimator, and the data and steps to train and evaluate it with.

    Args:
        estimator: the Estimator.
        train_input_fn, eval_input_fn: see `tf.estimator.Estimator.train`.
        eval_metrics: more metrics of evaluations, see `tf.contrib.learn.Estimator.evaluate`; needs
            an Estimator of `tf.contrib.learn`.
        train_steps: training ends at this global step; None: with the data.
        eval_steps: the number of batches to evaluate; None: all the data.
        train_monitors, eval_hooks: called around every step.
        eval_delay_secs: seconds that an evaluator process waits before its first evaluation.
        continuous_eval_throttle_secs: the minimum seconds between two evaluations of an evaluator
            process.
        min_eval_frequency: 0: only the last checkpoint is evaluated; else every checkpoint is.
        train_steps_per_iteration: the steps between two evaluations of
            `continuous_train_and_eval`; None: a tenth of `train_steps`, or 1000.
        export_strategies: an ExportStrategy, or a list of those, called after the last evaluation.
        saving_listeners: called around every commit of a checkpoint.
        local_eval_frequency, delay_workers_by_global_step, checkpoint_and_export,
            check_interval_secs: not used.

    Programs derive from this class and use its private attributes, so these have the names that
    they had in `tf.contrib.learn`.

    Raises:
        MoxTypeError: an argument that can't be used.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[..., Any],
        eval_input_fn: Callable[..., Any],
        eval_metrics: Mapping[Any, Any] | None = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Sequence[Any] | None = None,
        eval_hooks: Sequence[Any] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Sequence[Any] | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        if not isinstance(estimator, Estimator):
            raise MoxTypeError(
                f"Experiment has estimator={shown(estimator)}; it must be an Estimator of"
                " tf.estimator or tf.contrib.learn."
            )
        if eval_metrics and not isinstance(estimator, LearnMethods):
            raise MoxValueError(
                "Experiment has eval_metrics, which only Estimators of tf.contrib.learn take. Give"
                " them as the eval_metric_ops of the EstimatorSpec."
            )
        self._estimator = estimator
        self._train_input_fn, self._eval_input_fn = train_input_fn, eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps, self._eval_steps = train_steps, eval_steps
        self._train_monitors = list(train_monitors or ())
        self._eval_hooks = list(eval_hooks or ())
        self._local_eval_frequency = local_eval_frequency
        self._eval_delay_secs = eval_delay_secs
        self._continuous_eval_throttle_secs = continuous_eval_throttle_secs
        self._min_eval_frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._delay_workers_by_global_step = delay_workers_by_global_step
        self._train_steps_per_iteration = train_steps_per_iteration
        self._checkpoint_and_export = checkpoint_and_export
        self._check_interval_secs = check_interval_secs
        self._export_strategies = _list_of(export_strategies)
        self._saving_listeners = list(saving_listeners or ())

    @property
    def estimator(self) -> Any:
        """The Estimator."""
        return self._estimator

    @property
    def train_steps(self) -> int | None:
        """The global step at which training ends."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """The number of batches to evaluate."""
        return self._eval_steps

    @property
    def eval_metrics(self) -> Mapping[Any, Any] | None:
        """The metrics that evaluations add."""
        return self._eval_metrics

    def extend_train_hooks(self, additional_hooks: Sequence[Any]) -> None:
        """Adds hooks of the training."""
        self._train_monitors.extend(additional_hooks)

    def reset_export_strategies(self, new_export_strategies: Any = None) -> list[Any]:
        """Replaces the strategies of the exports, and returns the previous ones."""
        before = self._export_strategies
        self._export_strategies = _list_of(new_export_strategies)
        return before

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains, and returns the Estimator; a parameter server serves."""
        del delay_secs
        return self._estimator.train(
            self._train_input_fn,
            self._train_monitors,
            max_steps=self._train_steps,
            saving_listeners=self._saving_listeners,
        )

    run_std_server = train

    def evaluate(
        self, delay_secs: float | None = None, name: str | None = None, **others: Any
    ) -> dict[str, Any]:
        """Returns the metrics of the newest checkpoint."""
        del delay_secs, others
        estimator, hooks = self._estimator, self._eval_hooks
        given: dict[str, Any] = {"steps": self._eval_steps, "hooks": hooks, "name": name}
        if isinstance(estimator, LearnMethods):
            return estimator.evaluate(
                input_fn=self._eval_input_fn, metrics=self._eval_metrics, **given
            )
        return estimator.evaluate(self._eval_input_fn, **given)

    def train_and_evaluate(self) -> tuple[Any, list[Any]]:
        """Trains, evaluating as the role of this process in the job demands.

        Returns:
            The metrics of the last evaluation, and the directories of the exports; (None, []) in
            processes that do not evaluate.
        """
        estimator = self._estimator
        adapted = getattr(estimator, "_adapted", lambda function: function)
        evaluator = estimator.config.task_type == "evaluator"
        between = _NEVER_SECS if self._min_eval_frequency == 0 else 0
        spec = EvalSpec(
            adapted(self._eval_input_fn),
            self._eval_steps,
            hooks=self._eval_hooks,
            exporters=[_Strategy(strategy) for strategy in self._export_strategies],
            start_delay_secs=self._eval_delay_secs if evaluator else 0,
            throttle_secs=self._continuous_eval_throttle_secs if evaluator else between,
        )
        training = TrainSpec(
            adapted(self._train_input_fn),
            self._train_steps,
            self._train_monitors,
            self._saving_listeners,
        )
        if not isinstance(estimator, LearnMethods):
            return train_and_evaluate(estimator, training, spec)
        with estimator._with_metrics(self._eval_metrics):
            return train_and_evaluate(estimator, training, spec)

    local_run = train_and_evaluate

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable[..., Any] | None = None
    ) -> tuple[Any, list[Any]]:
        """Trains some steps and evaluates, in turns, until the global step is `train_steps`.

        In a job of several processes this is `train_and_evaluate`.

        Args:
            continuous_eval_predicate_fn: called with the metrics before each turn, at first with
                None; the turns end where it returns a false value.

        Returns:
            As `train_and_evaluate`.

        Raises:
            MoxTypeError: continuous_eval_predicate_fn is no function.
        """
        predicate = continuous_eval_predicate_fn
        if predicate is not None and not callable(predicate):
            raise MoxTypeError(
                f"Experiment has continuous_eval_predicate_fn={shown(predicate)}, which is no"
                " function."
            )
        if self._estimator.config.cluster_spec:
            return self.train_and_evaluate()
        found: Any = None
        while predicate is None or predicate(found):
            if self._has_training_stopped(found):
                break
            self._estimator.train(
                self._train_input_fn,
                self._train_monitors,
                steps=self._steps_of_a_turn(),
                saving_listeners=self._saving_listeners,
            )
            found = self.evaluate(name="one_pass")
        return found, self._maybe_export(found)

    def _steps_of_a_turn(self) -> int:
        """The steps between two evaluations of `continuous_train_and_eval`."""
        if self._train_steps_per_iteration is not None:
            return self._train_steps_per_iteration
        return 1000 if self._train_steps is None else max(1, self._train_steps // 10)

    def _has_training_stopped(self, eval_result: Mapping[str, Any] | None) -> bool:
        """Whether an evaluation was made at the global step at which training ends."""
        step = (eval_result or {}).get(tf.GraphKeys.GLOBAL_STEP)
        return bool(step and self._train_steps and step >= self._train_steps)

    def _maybe_export(
        self, eval_result: Mapping[str, Any] | None, checkpoint_path: str | None = None
    ) -> list[Any]:
        """Exports by each strategy, and returns the directories of the exports."""
        base = os.path.join(self._estimator.model_dir, "export")
        return [
            strategy.export(
                self._estimator,
                os.path.join(base, strategy.name),
                checkpoint_path,
                dict(eval_result or {}),
            )
            for strategy in self._export_strategies
        ]

    def continuous_eval(self, *arguments: Any, **keywords: Any) -> Any:
        """Evaluates new checkpoints until the last of the training, in an evaluator process."""
        del arguments, keywords
        return self.train_and_evaluate()

    def test(self) -> dict[str, Any]:
        """Trains and evaluates a single step."""
        self._estimator.train(self._train_input_fn, self._train_monitors, steps=1)
        self._eval_steps = 1
        return self.evaluate(name="one_pass")


def _list_of(strategies: Any) -> list[ExportStrategy]:
    """One strategy, several or None, as a list."""
    return [strategies] if isinstance(strategies, ExportStrategy) else list(strategies or ())


class _Strategy(Exporter):
    """An ExportStrategy as an exporter of `train_and_evaluate`."""

    def __init__(self, strategy: ExportStrategy) -> None:
        self._strategy = strategy

    @property
    def name(self) -> str:
        return self._strategy.name

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        if not is_the_final_export:
            return None
        return self._strategy.export(estimator, export_path, checkpoint_path, dict(eval_result))


def run(
    experiment_fn: Callable[..., Any],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Makes an experiment and runs it.

    Args:
        experiment_fn: a function of (run_config, hparams), or, if `output_dir` is given, of the
            output directory; returns an Experiment.
        output_dir: the directory of the experiment, in place of `run_config`.
        schedule: the name of the Experiment's method to call; None: the role of this process in
            the job decides.
        run_config: a RunConfig with a model_dir.
        hparams: passed to experiment_fn.

    Returns:
        The result of the method.

    Raises:
        MoxValueError: neither or both of output_dir and run_config are given, or there is no such
            method.
        MoxTypeError: experiment_fn is no function, or returned no Experiment.
    """
    if not callable(experiment_fn):
        raise MoxTypeError(
            f"learn_runner.run has experiment_fn={shown(experiment_fn)}, which is no function."
        )
    if (output_dir is None) == (run_config is None):
        raise MoxValueError(
            f"learn_runner.run has output_dir={shown(output_dir)} and run_config="
            f"{shown(run_config)}; give one of them."
        )
    if run_config is not None:
        experiment = experiment_fn(run_config, hparams)
    else:
        experiment = experiment_fn(output_dir)
    if not isinstance(experiment, Experiment):
        raise MoxTypeError(
            f"learn_runner.run's experiment_fn returned {shown(experiment)}; it must return a"
            " tf.contrib.learn.Experiment."
        )
    name = schedule or "train_and_evaluate"
    method = getattr(experiment, name, None)
    if name.startswith("_") or not callable(method):
        known = [item for item in dir(experiment) if not item.startswith("_")]
        raise MoxValueError(
            f"learn_runner.run has schedule={name!r}, which is no method of an Experiment."
            f"{near_matches(name, known)}"
        )
    return method()
