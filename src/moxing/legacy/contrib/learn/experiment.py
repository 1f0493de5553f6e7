"""`tf.contrib.learn.Experiment` and `learn_runner`: training with evaluation of an Estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
        export_strategies: an ExportStrategy, or a list of those, called after the last evaluation.
        saving_listeners: called around every commit of a checkpoint.
        local_eval_frequency, delay_workers_by_global_step, train_steps_per_iteration,
            checkpoint_and_export, check_interval_secs: not used.

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
        del local_eval_frequency, delay_workers_by_global_step, train_steps_per_iteration
        del checkpoint_and_export, check_interval_secs
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
        self._train_hooks = list(train_monitors or ())
        self._eval_hooks = tuple(eval_hooks or ())
        self._delay, self._throttle = eval_delay_secs, continuous_eval_throttle_secs
        self._between_secs = _NEVER_SECS if min_eval_frequency == 0 else 0
        given = export_strategies or ()
        self._strategies = [given] if isinstance(given, ExportStrategy) else list(given)
        self._listeners = tuple(saving_listeners or ())

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
        self._train_hooks.extend(additional_hooks)

    def reset_export_strategies(self, new_export_strategies: Any = None) -> list[Any]:
        """Replaces the strategies of the exports, and returns the previous ones."""
        before, given = self._strategies, new_export_strategies or ()
        self._strategies = [given] if isinstance(given, ExportStrategy) else list(given)
        return before

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains, and returns the Estimator; a parameter server serves."""
        del delay_secs
        return self._estimator.train(
            self._train_input_fn,
            self._train_hooks,
            max_steps=self._train_steps,
            saving_listeners=self._listeners,
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
        spec = EvalSpec(
            adapted(self._eval_input_fn),
            self._eval_steps,
            hooks=self._eval_hooks,
            exporters=[_Strategy(strategy) for strategy in self._strategies],
            start_delay_secs=self._delay if estimator.config.task_type == "evaluator" else 0,
            throttle_secs=(
                self._throttle if estimator.config.task_type == "evaluator" else self._between_secs
            ),
        )
        training = TrainSpec(
            adapted(self._train_input_fn), self._train_steps, self._train_hooks, self._listeners
        )
        if not isinstance(estimator, LearnMethods):
            return train_and_evaluate(estimator, training, spec)
        with estimator._with_metrics(self._eval_metrics):
            return train_and_evaluate(estimator, training, spec)

    local_run = continuous_train_and_eval = train_and_evaluate

    def continuous_eval(self, *arguments: Any, **keywords: Any) -> Any:
        """Evaluates new checkpoints until the last of the training, in an evaluator process."""
        del arguments, keywords
        return self.train_and_evaluate()

    def test(self) -> dict[str, Any]:
        """Trains and evaluates a single step."""
        self._estimator.train(self._train_input_fn, self._train_hooks, steps=1)
        self._eval_steps = 1
        return self.evaluate(name="one_pass")


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
