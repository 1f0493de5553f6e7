"""`tf.contrib.estimator`: what of it is here under other names, and advice for the rest."""

from __future__ import annotations

from typing import Any

from moxing import estimator
from moxing.errors import MoxAttributeError, near_matches
from moxing.estimator.absent import AbsentError
from moxing.estimator.experimental import make_early_stopping_hook as make_early_stopping_hook

_STOP = (
    "Use make_early_stopping_hook(estimator, should_stop_fn) with a function of your own, or"
    " mox.EarlyStoppingHook with mox.run."
)
_HEAD = (
    "Return a tf.estimator.EstimatorSpec from model_fn: its loss from tf.losses, its predictions,"
    " its eval_metric_ops from tf.metrics and its train_op from optimizer.minimize."
)
_TOWERS = (
    "Leave it out: model_fn is called once for each device of --num_gpus, and the gradients are"
    " averaged."
)
_OTHERS = {
    "InMemoryEvaluatorHook": "Use tf.estimator.train_and_evaluate, which evaluates in between.",
    "TowerOptimizer": _TOWERS,
    "add_metrics": "Add the metric to eval_metric_ops in model_fn.",
    "clip_gradients_by_norm": (
        "In model_fn, clip what optimizer.compute_gradients returns with tf.clip_by_norm, and give"
        " it to optimizer.apply_gradients."
    ),
    "forward_features": "Put the features among the predictions of model_fn.",
    "replicate_model_fn": _TOWERS,
}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise MoxAttributeError(f"module {__name__!r} has no attribute {name!r}.", name=name)
    advice = _OTHERS.get(name)
    if advice is None and name.startswith("stop_if_"):
        advice = _STOP
    if advice is None and (name.endswith("_head") or name.endswith("Head")):
        advice = _HEAD
    if advice is not None:
        raise AbsentError(f"tf.contrib.estimator.{name} is not supported. {advice}")
    if hasattr(estimator, name):
        return getattr(estimator, name)
    if name.endswith(("Classifier", "Regressor", "Estimator")):
        return getattr(estimator, name)  # Which says what to do.
    near = near_matches(name, ["make_early_stopping_hook", *_OTHERS])
    raise MoxAttributeError(f"tf.contrib.estimator has no {name!r}.{near}", name=name)
