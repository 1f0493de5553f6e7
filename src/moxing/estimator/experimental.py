"""`tf.estimator.experimental`: hooks, and functions that build logits."""

from __future__ import annotations

from typing import Any

from moxing.errors import MoxAttributeError, near_matches
from moxing.estimator import canned
from moxing.estimator.absent import AbsentError
from moxing.estimator.hooks.asking import make_early_stopping_hook as make_early_stopping_hook
from moxing.estimator.hooks.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from moxing.estimator.hooks.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from moxing.estimator.hooks.early_stopping import (
    stop_if_no_decrease_hook as stop_if_no_decrease_hook,
)
from moxing.estimator.hooks.early_stopping import (
    stop_if_no_increase_hook as stop_if_no_increase_hook,
)
from moxing.estimator.hooks.in_memory import InMemoryEvaluatorHook as InMemoryEvaluatorHook

_NO_GRADIENT = "It is not trained by gradients of a loss, as every run of openmox trains."
_OTHERS = {
    "KMeans": f"{_NO_GRADIENT} Use sklearn.cluster.KMeans or MiniBatchKMeans.",
    "LinearSDCA": f"{_NO_GRADIENT} Use tf.estimator.LinearClassifier with its default optimizer.",
    "build_raw_supervised_input_receiver_fn": "Only the predictions of a model are exported: use"
    " tf.estimator.export.build_raw_serving_input_receiver_fn.",
    "make_stop_at_checkpoint_step_hook": "Use max_steps: all processes end after the same step.",
}


def __getattr__(name: str) -> Any:
    if name in canned.EXPERIMENTAL:
        return canned.get_experimental(name)
    if name in _OTHERS:
        raise AbsentError(f"tf.estimator.experimental.{name} is not supported. {_OTHERS[name]}")
    if name.startswith("_"):
        raise MoxAttributeError(f"module {__name__!r} has no attribute {name!r}.", name=name)
    known = [item for item in globals() if not item.startswith("_")]
    near = near_matches(name, [*known, *canned.EXPERIMENTAL])
    raise MoxAttributeError(f"tf.estimator.experimental has no {name!r}.{near}", name=name)
