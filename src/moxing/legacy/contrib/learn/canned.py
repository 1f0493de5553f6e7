"""`tf.contrib.learn`'s ready-made models: `tf.estimator`'s models with fit and other methods."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import structure
from moxing.errors import MoxAttributeError, MoxNotSupportedError
from moxing.estimator import canned, extenders
from moxing.legacy.contrib.learn import old_columns
from moxing.legacy.contrib.learn.estimator import LearnMethods

NAMES = tuple(
    f"{prefix}{kind}"
    for prefix in ("DNN", "DNNLinearCombined", "Linear")
    for kind in ("Classifier", "Estimator", "Regressor")
)
# Arguments that tf.estimator's models do not have, with the value that means what they do.
_DROPPED = {
    "enable_centered_bias": False,
    "embedding_lr_multipliers": None,
    "feature_engineering_fn": None,
    "fix_global_step_increment_bug": ...,
    "input_layer_min_slice_size": ...,
    "input_layer_partitioner": None,
    "joint_weights": False,
    "_joint_linear_weights": False,
    "linear_joint_weights": False,
    "label_keys": None,
}
_COLUMNS = ("feature_columns", "linear_feature_columns", "dnn_feature_columns")
_OPTIMIZERS = ("optimizer", "linear_optimizer", "dnn_optimizer")
_DEFAULTS = {"optimizer": "Adagrad", "linear_optimizer": "Ftrl", "dnn_optimizer": "Adagrad"}


class _Methods(LearnMethods):
    """The methods of a ready-made model: predictions are classes or values, not dicts."""

    _kind = ""
    _labels: Any = None

    def predict(self, x: Any = None, input_fn: Any = None, **others: Any) -> Any:  # type: ignore[override]
        """Predicts classes or values; with `outputs`, dicts of these predictions."""
        if others.get("outputs") is not None or others.get("predict_keys") is not None:
            return super().predict(x, input_fn, **others)
        others.pop("outputs", None)
        key = "classes" if self._kind.endswith("Classifier") else "predictions"
        return self._of_key(key, x, input_fn, **others)

    def predict_classes(self, x: Any = None, input_fn: Any = None, **others: Any) -> Any:
        """Returns the classes."""
        return self._of_key("classes", x, input_fn, **others)

    def predict_proba(self, x: Any = None, input_fn: Any = None, **others: Any) -> Any:
        """Returns the probabilities of the classes."""
        return self._of_key("probabilities", x, input_fn, **others)

    def predict_scores(self, x: Any = None, input_fn: Any = None, **others: Any) -> Any:
        """Returns the values of a regression."""
        return self._of_key("predictions", x, input_fn, **others)

    @property
    def weights_(self) -> dict[str, Any]:
        """The weights of the newest checkpoint, by name."""
        names = [name for name in self.get_variable_names() if name.endswith(("weights", "kernel"))]
        return {name: self.get_variable_value(name) for name in names}

    def _of_key(
        self, key: str, x: Any, input_fn: Any, as_iterable: bool = True, **others: Any
    ) -> Any:
        wanted = "class_ids" if key == "classes" and self._labels is None else key
        found = super().predict(x, input_fn, outputs=[wanted], as_iterable=as_iterable, **others)
        if as_iterable:
            return (_single(item[wanted], wanted) for item in found)
        return _single(found[wanted], wanted)

    def _adapted(self, input_fn: Callable[..., Any]) -> Callable[..., Any]:
        """Names a features tensor that has no name, as the columns of such features do."""

        def named(features: Any) -> Any:
            plain = isinstance(features, tf.Tensor | tf.SparseTensor)
            return {old_columns.ONLY: features} if plain else features

        @functools.wraps(input_fn)
        def adapted(*arguments: Any, **keywords: Any) -> Any:
            made = input_fn(*arguments, **keywords)
            if structure.is_dataset(made):
                return made.map(
                    lambda *parts: (named(parts[0]), *parts[1:]) if parts[1:] else named(parts[0])
                )
            if isinstance(made, tuple | list) and len(made) == 2:
                return named(made[0]), made[1]
            return named(made)

        return adapted


def _single(values: Any, key: str) -> Any:
    """Returns class ids and values without their last axis, which has one element."""
    if key != "probabilities" and getattr(values, "ndim", 0) and values.shape[-1] == 1:
        values = values[..., 0]
    return values


_ORDERS = {
    "DNN": ("hidden_units", "feature_columns", "model_dir"),
    "Linear": ("feature_columns", "model_dir"),
    "DNNLinearCombined": ("model_dir",),
}


def _positional(kind: str, arguments: Sequence[Any]) -> dict[str, Any]:
    prefix = kind.removesuffix("Classifier").removesuffix("Regressor").removesuffix("Estimator")
    return dict(zip(_ORDERS[prefix], arguments, strict=False))


def _adapted(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Converts the arguments of a `tf.contrib.learn` model to those of its `tf.estimator` model."""
    made = dict(given)
    vocabulary = made.pop("label_keys", None)
    for name, neutral in _DROPPED.items():
        value = made.pop(name, neutral)
        if neutral is not ... and value is not neutral and value not in (None, False):
            raise MoxNotSupportedError(
                f"tf.contrib.learn.{kind}({name}=...) is not supported. Leave it out, or give"
                " a model_fn to tf.estimator.Estimator."
            )
    if vocabulary is not None:
        made["label_vocabulary"] = list(vocabulary)
    for name in _COLUMNS:
        if made.get(name) is not None:
            made[name] = old_columns.current(made[name])
    if "weight_column_name" in made:
        made["weight_column"] = made.pop("weight_column_name")
    # Losses of tf.contrib.learn were means; those of tf.estimator are sums unless told so.
    if not kind.endswith("Estimator"):
        made.setdefault("loss_reduction", tf.losses.Reduction.SUM_OVER_BATCH_SIZE)
    norm = made.pop("gradient_clip_norm", None)
    for name in _OPTIMIZERS:
        if made.get(name, ...) is None:
            made.pop(name)
        if norm is not None and (name in made or (name == "optimizer") != ("Combined" in kind)):
            chosen = made.get(name) or ("Ftrl" if kind.startswith("Linear") else _DEFAULTS[name])
            made[name] = extenders.clip_gradients_by_norm(_optimizer(chosen), norm)
    return made


def _optimizer(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    return {
        "Adagrad": lambda: tf.train.AdagradOptimizer(0.05),
        "Adam": lambda: tf.train.AdamOptimizer(0.001),
        "Ftrl": lambda: tf.train.FtrlOptimizer(0.05),
        "RMSProp": lambda: tf.train.RMSPropOptimizer(0.05),
        "SGD": lambda: tf.train.GradientDescentOptimizer(0.05),
    }[given]()


@functools.cache
def model(kind: str) -> type:
    """Returns the class of a ready-made model.

    Args:
        kind: one of `NAMES`.
    """
    base = canned.get(kind)

    def init(self: Any, *arguments: Any, **keywords: Any) -> None:
        named = _positional(kind, arguments) | keywords
        adapted = _adapted(kind, named)
        self._labels = adapted.get("label_vocabulary")
        base.__init__(self, **adapted)

    return type(kind, (_Methods, base), {"_kind": kind, "__init__": init, "__doc__": base.__doc__})


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return model(name)
    raise MoxAttributeError(f"module {__name__!r} has no attribute {name!r}.", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
