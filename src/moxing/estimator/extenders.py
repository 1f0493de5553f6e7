"""Extends Estimators with more metrics or predictions, and optimizers with gradient clipping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.estimator.estimator import Estimator
from moxing.estimator.export import PredictOutput
from moxing.estimator.modeling import functions
from moxing.estimator.modeling.spec import EstimatorSpec, ModeKeys

_OF_METRICS = ("features", "labels", "predictions", "config")


def add_metrics(estimator: Estimator, metric_fn: Callable[..., Mapping[str, Any]]) -> Estimator:
    """Returns an Estimator with the same model_dir and additional metrics.

    Args:
        estimator: the Estimator to extend.
        metric_fn: a function that gets, by name, those of features, labels, predictions and config
            that it has parameters for. It returns metrics by name, see `EstimatorSpec`; they
            replace the model's metrics of the same name.

    Raises:
        MoxValueError: metric_fn has a parameter of another name.
    """
    taken = functions.names(metric_fn)
    unknown = taken - {*_OF_METRICS}
    if unknown:
        raise MoxValueError(
            f"add_metrics has a metric_fn that takes {sorted(unknown)[0]!r}; it may take"
            f" {', '.join(_OF_METRICS)}."
        )

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = _spec(estimator, features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        known = {
            "features": features,
            "labels": labels,
            "predictions": spec.predictions,
            "config": config,
        }
        added = metric_fn(**{name: value for name, value in known.items() if name in taken})
        return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **added})

    return _like(estimator, model_fn)


def forward_features(
    estimator: Estimator, keys: str | Sequence[str] | None = None, sparse_default_values: Any = None
) -> Estimator:
    """Returns an Estimator with the same model_dir that copies features into its predictions.

    Args:
        estimator: the Estimator to extend.
        keys: names of features; None: all.
        sparse_default_values: by name, the value of a sparse feature's missing entries.

    Raises:
        MoxTypeError: a key is not a string.
    """
    wanted = [keys] if isinstance(keys, str) else keys
    for key in wanted or ():
        if not isinstance(key, str):
            raise MoxTypeError(f"forward_features has the key {shown(key)}; it must be a name.")
    defaults = dict(sparse_default_values or {})

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = _spec(estimator, features, labels, mode, config)
        if mode != ModeKeys.PREDICT:
            return spec
        added = _forwarded(features, wanted, defaults, spec.predictions)
        outputs = {
            name: PredictOutput({**output.outputs, **added})
            if isinstance(output, PredictOutput)
            else output
            for name, output in (spec.export_outputs or {}).items()
        }
        return spec._replace(
            predictions={**spec.predictions, **added}, export_outputs=outputs or None
        )

    return _like(estimator, model_fn)


def clip_gradients_by_norm(optimizer: tf.train.Optimizer, clip_norm: float) -> tf.train.Optimizer:
    """Returns an optimizer that clips each gradient to a maximum norm before it is applied.

    Args:
        optimizer: the optimizer that applies the clipped gradients.
        clip_norm: the maximum L2 norm of each gradient, above 0.
    """
    return _Clips(optimizer, clip_norm)


class _Clips(tf.train.Optimizer):
    def __init__(self, optimizer: tf.train.Optimizer, clip_norm: float) -> None:
        super().__init__(False, f"Clipped{optimizer.get_name()}")
        self._optimizer, self._clip_norm = optimizer, clip_norm

    def compute_gradients(self, *arguments: Any, **keywords: Any) -> Any:
        return self._optimizer.compute_gradients(*arguments, **keywords)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        clipped = [
            (None if gradient is None else tf.clip_by_norm(gradient, self._clip_norm), variable)
            for gradient, variable in grads_and_vars
        ]
        return self._optimizer.apply_gradients(clipped, global_step, name)


def _forwarded(
    features: Any, wanted: Sequence[str] | None, defaults: Mapping[str, Any], predictions: Any
) -> dict[str, Any]:
    if not isinstance(features, Mapping) or not isinstance(predictions, Mapping):
        raise MoxTypeError("forward_features needs a dict of features and a dict of predictions.")
    names = list(features) if wanted is None else wanted
    made = {}
    for name in names:
        if name not in features:
            raise MoxValueError(
                f"forward_features has the key {name!r}, which is no feature; there are"
                f" {', '.join(map(str, features))}."
            )
        if name in predictions:
            raise MoxValueError(
                f"forward_features has the key {name!r}, which is the name of a prediction, too."
            )
        value = features[name]
        if isinstance(value, tf.SparseTensor):
            value = tf.sparse.to_dense(value, default_value=defaults.get(name))
        made[name] = value
    return made


def _spec(estimator: Estimator, features: Any, labels: Any, mode: str, config: Any) -> Any:
    return estimator.model_fn(features, labels, mode, config).as_estimator_spec()


def _like(estimator: Estimator, model_fn: Callable[..., EstimatorSpec]) -> Estimator:
    """Returns an Estimator with another model function and the same config and model_dir."""
    return Estimator(
        model_fn,
        config=estimator.config,
        warm_start_from=estimator.warm_start_settings or estimator.warm_start,
    )
