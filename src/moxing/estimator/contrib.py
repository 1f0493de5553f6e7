"""`tf.contrib.estimator`: names that openmox has elsewhere, heads, and advice for other names."""

from __future__ import annotations

from typing import Any

from moxing import estimator
from moxing.errors import MoxAttributeError, near_matches
from moxing.estimator import experimental
from moxing.estimator.absent import AbsentError
from moxing.estimator.extenders import add_metrics as add_metrics
from moxing.estimator.extenders import clip_gradients_by_norm as clip_gradients_by_norm
from moxing.estimator.extenders import forward_features as forward_features
from moxing.estimator.hooks.asking import make_early_stopping_hook as make_early_stopping_hook
from moxing.estimator.running.records import read_eval_metrics as read_eval_metrics
from moxing.estimator.serving.exporters import StepsExporter as StepsExporter

# The functions of tf.contrib.estimator that make heads, and the classes that replaced them.
_HEADS = {
    "binary_classification_head": "BinaryClassHead",
    "logistic_regression_head": "LogisticRegressionHead",
    "multi_class_head": "MultiClassHead",
    "multi_head": "MultiHead",
    "multi_label_head": "MultiLabelHead",
    "poisson_regression_head": "PoissonRegressionHead",
    "regression_head": "RegressionHead",
}
_TOWERS = (
    "Leave it out: model_fn is called once for each device of --num_gpus, and the gradients are"
    " averaged."
)
_OTHERS = {
    "SavedModelEstimator": "Train the Estimator that wrote the model, from its checkpoint.",
    "TowerOptimizer": _TOWERS,
    "export_all_saved_models": "Only the predictions of a model are exported: export_saved_model.",
    "export_saved_model_for_mode": "Only the predictions of a model are exported:"
    " export_saved_model.",
    "replicate_model_fn": _TOWERS,
}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise MoxAttributeError(f"module {__name__!r} has no attribute {name!r}.", name=name)
    if name in _HEADS:
        return getattr(estimator, _HEADS[name])
    if name in _OTHERS:
        raise AbsentError(f"tf.contrib.estimator.{name} is not supported. {_OTHERS[name]}")
    if name.startswith(("boosted_trees", "BoostedTrees")):
        return estimator.BoostedTreesEstimator  # Raises an error with advice.
    for place in (estimator, experimental):
        if hasattr(place, name):
            return getattr(place, name)
    near = near_matches(name, [*globals(), *_HEADS, *_OTHERS])
    raise MoxAttributeError(f"tf.contrib.estimator has no {name!r}.{near}", name=name)
