"""Makes the engine's jobs from an Estimator and the arguments of its methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import EVAL, PREDICT, TRAIN, Data, Job, Loss, Model, Saving
from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.estimator.described import Described
from moxing.estimator.modeling import functions, metrics
from moxing.estimator.modeling.capture import captured
from moxing.estimator.modeling.scaffold import hooks_of_scaffold
from moxing.estimator.modeling.spec import EstimatorSpec, ModeKeys, SpecLike
from moxing.estimator.modeling.updates import Updates
from moxing.estimator.running import endless, runtime, starting
from moxing.estimator.running.saver_hooks import refuse_saver_hooks, sorted_out
from moxing.estimator.running.steps import ENDLESS, of_worker

_MODES = {TRAIN: ModeKeys.TRAIN, EVAL: ModeKeys.EVAL, PREDICT: ModeKeys.PREDICT}


def training(
    estimator: Described,
    input_fn: Callable[..., Any],
    max_steps: int | None,
    hooks: Sequence[tf.train.SessionRunHook],
    listeners: Sequence[tf.train.CheckpointSaverListener],
    again: bool,
) -> Job:
    """Returns a training job up to the global step `max_steps`; None: to the end of the data."""
    config = estimator.config
    placed, changes = runtime.placed(config, TRAIN), runtime.updating()
    alone = placed.devices == 1 and placed.group.cluster is None and changes.accumulate == 1
    updates = Updates(alone)
    chief = placed.group.is_chief
    shares = config.train_distribute is not None
    seconds, every = config.save_checkpoints_secs, config.save_checkpoints_steps
    starts = None if estimator.latest_unsaid() else estimator.warm_start_settings
    saving = sorted_out(hooks, listeners, every, seconds)

    def model_fn(inputs: Any, mode: str) -> Model:
        del mode
        first = updates.begin() == 0
        with captured() as noted:
            spec = _call(estimator, inputs, ModeKeys.TRAIN)
        made = updates.add(noted, spec.train_op)
        if first and starts is not None:
            starts.apply()
        refuse_saver_hooks(spec.training_hooks or (), spec.training_chief_hooks or ())
        own = tuple(spec.training_hooks or ())
        if first:
            own = (*saving.hooks, *own, *hooks_of_scaffold(spec.scaffold, True, None))
        if first and chief:
            own += tuple(spec.training_chief_hooks or ())
        assert spec.loss is not None
        return Model(
            losses=tuple(Loss(spec.loss) for _ in range(made)), log={"loss": spec.loss}, hooks=own
        )

    several = placed.devices
    return Job(
        mode=TRAIN,
        data=Data(_input_fn(estimator, input_fn, ModeKeys.TRAIN, shares, several)),
        model_fn=_presented(estimator, model_fn),
        optimization=runtime.optimization(updates.optimizer_fn),
        max_steps=of_worker(max_steps, placed.group),
        seed=runtime.seed(config),
        log_dir=estimator.model_dir,
        placement=placed,
        saving=Saving(
            saving.seconds,
            saving.steps,
            config.keep_checkpoint_max,
            saving.listeners,
            runtime.hours(config),
            in_step=runtime.saves_in_step(),
        ),
        restoring=runtime.restoring(
            None if estimator.latest_unsaid() else estimator.warm_start, again
        ),
        logging=runtime.logging(TRAIN, config.log_step_count_steps or ENDLESS, estimator.model_dir),
        summaries=runtime.summaries(
            config.save_summary_steps or ENDLESS, config.save_summary_steps is not None
        ),
        precision=runtime.precision(),
        threads=runtime.threads(config.session_config),
    )


def evaluation(
    estimator: Described,
    input_fn: Callable[..., Any],
    steps: int | None,
    hooks: Sequence[tf.train.SessionRunHook],
    checkpoint_path: str | None,
    results: dict[str, Any],
) -> Job:
    """Returns an evaluation job of a checkpoint, which puts the metrics into `results`.

    Without a checkpoint, the model must start from weights that model_fn reads itself.
    """

    def model_fn(inputs: Any, mode: str) -> Model:
        del mode
        spec = _call(estimator, inputs, ModeKeys.EVAL)
        found = metrics.read(spec.eval_metric_ops)
        own = (*hooks, *(spec.evaluation_hooks or ()), metrics.ReadMetrics(found, results))
        own += (endless.Patience(),) if steps is None else ()
        own += hooks_of_scaffold(spec.scaffold, False, checkpoint_path)
        if checkpoint_path is None:
            starting.check(spec.scaffold, estimator.model_dir)
        assert spec.loss is not None
        log = {"loss": spec.loss, **found.scalars}
        return Model(log=log, outputs=found.updates, hooks=own)

    config = estimator.config
    placed = runtime.placed(config, EVAL)
    check = endless.refuse if steps is None else None
    return Job(
        mode=EVAL,
        data=Data(_input_fn(estimator, input_fn, ModeKeys.EVAL, check=check)),
        model_fn=_presented(estimator, model_fn),
        optimization=runtime.optimization(),
        max_steps=ENDLESS if steps is None else steps,
        seed=runtime.seed(config),
        placement=placed,
        restoring=runtime.restoring(checkpoint_path, untrained=checkpoint_path is None),
        logging=runtime.logging(EVAL, ENDLESS),
        summaries=runtime.summaries(),
        precision=runtime.precision(),
        threads=runtime.threads(config.session_config),
    )


def prediction(
    estimator: Described,
    input_fn: Callable[..., Any],
    hooks: Sequence[tf.train.SessionRunHook],
    checkpoint_path: str | None,
    wanted: Sequence[str] | None,
) -> Job:
    """Returns a prediction job, whose model outputs are the wanted predictions by name.

    Without a checkpoint, the model must start from weights that model_fn reads itself.
    """

    def model_fn(inputs: Any, mode: str) -> Model:
        del mode
        spec = _call(estimator, inputs, ModeKeys.PREDICT)
        own = (*hooks, *(spec.prediction_hooks or ()))
        own += hooks_of_scaffold(spec.scaffold, False, checkpoint_path)
        if checkpoint_path is None:
            starting.check(spec.scaffold, estimator.model_dir)
        return Model(outputs=_chosen(spec.predictions, wanted), hooks=own)

    config = estimator.config
    placed = runtime.placed(config, PREDICT)
    return Job(
        mode=PREDICT,
        data=Data(_input_fn(estimator, input_fn, ModeKeys.PREDICT)),
        model_fn=_presented(estimator, model_fn),
        optimization=runtime.optimization(),
        max_steps=ENDLESS,
        seed=runtime.seed(config),
        placement=placed,
        restoring=runtime.restoring(checkpoint_path, untrained=checkpoint_path is None),
        logging=runtime.logging(PREDICT, 0),
        summaries=runtime.summaries(),
        precision=runtime.precision(),
        threads=runtime.threads(config.session_config),
    )


# The output name of a prediction that is a single tensor.
SINGLE = "prediction"


def _chosen(predictions: Any, wanted: Sequence[str] | None) -> dict[str, tf.Tensor]:
    if not isinstance(predictions, dict):
        if wanted:
            raise MoxValueError(
                f"predict_keys={list(wanted)}, but model_fn's predictions are one tensor, not a"
                " dict. Leave predict_keys out."
            )
        return {SINGLE: tf.convert_to_tensor(predictions)}
    missing = [name for name in wanted or () if name not in predictions]
    if missing:
        raise MoxValueError(
            f"predict_keys has {missing[0]!r}, which is not among the predictions:"
            f" {', '.join(map(str, predictions))}."
        )
    return {name: tf.convert_to_tensor(predictions[name]) for name in wanted or predictions}


def _input_fn(
    estimator: Described,
    function: Callable[..., Any],
    mode: str,
    shares: bool = False,
    devices: int = 1,
    check: Callable[[Any], Any] | None = None,
) -> Callable[[str], Any]:
    if not callable(function):
        raise MoxTypeError(f"Estimator needs a function as input_fn, not {shown(function)}.")

    def call(_: str) -> Any:
        params, config = estimator.params_in(mode), estimator.config
        made = functions.call_input_fn(function, mode, params, config, shares, devices)
        return made if check is None else check(made)

    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call


def _presented(estimator: Described, build: Callable[[Any, str], Model]) -> Any:
    """Returns `build`, which messages show under the name and line of the program's model_fn."""
    build.__wrapped__ = estimator.given_model_fn  # type: ignore[attr-defined]
    return build


def _call(estimator: Described, inputs: Any, mode: str) -> EstimatorSpec:
    features, labels = functions.features_and_labels(inputs)
    return call_on(estimator, features, None if mode == ModeKeys.PREDICT else labels, mode)


def call_on(estimator: Described, features: Any, labels: Any, mode: str) -> EstimatorSpec:
    """Calls the estimator's model_fn, and returns its result as an EstimatorSpec."""
    function = estimator.given_model_fn
    params = estimator.params_in(mode)
    made = functions.call_model_fn(function, features, labels, mode, params, estimator.config)
    if not isinstance(made, SpecLike):
        raise MoxTypeError(
            f"model_fn returned {shown(made)}; it must return tf.estimator.EstimatorSpec(mode,"
            " ...)."
        )
    spec = made.as_estimator_spec()
    if spec.mode != mode:
        raise MoxValueError(
            f"model_fn was called with the mode {mode!r} and returned an EstimatorSpec of the mode"
            f" {spec.mode!r}. Pass its own: tf.estimator.EstimatorSpec(mode, ...)."
        )
    return spec
