"""Takes a compiled Keras model apart, and rebuilds it in another graph."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import tensorflow.compat.v1 as tf

from moxing import native_noise
from moxing.engine.graph import devices
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown

_MODEL_FN = "write a model_fn for tf.estimator.Estimator, or use mox.run"


@dataclass(frozen=True)
class Recipe:
    """The parts of a compiled model.

    Attributes:
        model: the original model; its layers are rebuilt from their configurations.
        loss, loss_weights, metrics, weighted_metrics: the arguments that `compile` got.
        make_optimizer: makes a new optimizer like the model's, in the current graph.
        weights: the model's current weights, in order.
        custom_objects: the program's own layers and functions by name, as for `load_model`.
    """

    model: Any
    loss: Any
    loss_weights: Any
    metrics: Any
    weighted_metrics: Any
    make_optimizer: Callable[[], Any]
    weights: tuple[Any, ...]
    custom_objects: Mapping[str, Any]


def take_apart(model: Any, custom_objects: Mapping[str, Any] | None) -> Recipe:
    """Returns the recipe of a compiled model.

    Raises:
        MoxTypeError: `model` is not a Keras model.
        MoxValueError: the model is not compiled or not built.
        MoxNotSupportedError: the model can't be rebuilt; the message names an alternative.
    """
    _check(model)
    devices.has_gpu()  # Keras would list the devices next, and TensorFlow's first listing is noisy.
    compiled = model._get_compile_args()
    return Recipe(
        model,
        compiled["loss"],
        compiled["loss_weights"],
        compiled["metrics"],
        compiled["weighted_metrics"],
        _optimizer(model.optimizer),
        _weights(model),
        dict(custom_objects or {}),
    )


@contextmanager
def rebuilt(recipe: Recipe, features: list[Any], training: bool) -> Iterator[Any]:
    """In the block, the model rebuilt on `features` in the current graph, with new weights."""
    import tf_keras
    from tf_keras.src import backend

    # Keras annotates these context managers as generators.
    objects = cast(Any, tf_keras.utils.custom_object_scope)
    learning = cast(Any, backend.deprecated_internal_learning_phase_scope)
    try:
        with objects(dict(recipe.custom_objects)), learning(int(training)):
            given = features[0] if len(features) == 1 else features
            yield tf_keras.models.clone_model(recipe.model, input_tensors=given)
    finally:
        _leave_eager_models_alone(recipe)


def fresh_metrics(metrics: Any) -> Any:
    """Returns metrics for `compile`, with new objects for the metrics that hold variables."""

    def fresh(metric: Any) -> Any:
        if hasattr(metric, "update_state") and hasattr(metric, "get_config"):
            return type(metric).from_config(metric.get_config())
        return metric

    if metrics is None:
        return None
    if isinstance(metrics, Mapping):
        return {name: fresh_metrics(item) for name, item in metrics.items()}
    if isinstance(metrics, list | tuple):
        return [fresh_metrics(item) for item in metrics]
    return fresh(metrics)


def _check(model: Any) -> None:
    import tf_keras

    if not isinstance(model, tf_keras.Model):
        if type(model).__module__.split(".")[0] == "keras":
            raise MoxNotSupportedError(
                "model_to_estimator got a model of Keras 3, which has no graph to be built in. Run"
                " the program with mox run, where tf.keras is tf_keras; or set"
                " TF_USE_LEGACY_KERAS=1 before TensorFlow is imported."
            )
        raise MoxTypeError(f"model_to_estimator got {shown(model)}; it needs a tf.keras model.")
    if not (model._is_graph_network or isinstance(model, tf_keras.Sequential)):
        raise MoxNotSupportedError(
            f"model_to_estimator got a {type(model).__name__} that defines its own call(): it can't"
            " be built anew from a configuration. Build it of layers, with tf.keras.Sequential or"
            f" tf.keras.Model(inputs, outputs); or {_MODEL_FN}."
        )
    if not model.built:
        raise MoxValueError(
            "model_to_estimator got a model that does not know the shape of its input. Give it to"
            " the first layer: input_shape=(28, 28, 1)."
        )
    if not getattr(model, "optimizer", None):
        raise MoxValueError(
            "model_to_estimator got a model that is not compiled: call model.compile(optimizer,"
            " loss, metrics) before."
        )


def _weights(model: Any) -> tuple[Any, ...]:
    # In graph mode, Keras opens its first session here, and TensorFlow then warns that operations
    # changed after they had run.
    with native_noise.dropped():
        return tuple(model.get_weights())


def _optimizer(given: Any) -> Callable[[], Any]:
    inner = getattr(given, "optimizer", None)
    if isinstance(inner, tf.train.Optimizer):
        return lambda: _copy_of_v1(inner)
    if not hasattr(given, "get_updates"):
        from tf_keras.src.optimizers import convert_to_legacy_optimizer

        given = convert_to_legacy_optimizer(given)
    kind, settings = type(given), given.get_config()
    return lambda: kind.from_config(copy.deepcopy(settings))


def _copy_of_v1(optimizer: tf.train.Optimizer) -> tf.train.Optimizer:
    for name, value in vars(optimizer).items():
        made_in_use = name.endswith(("_t", "_tensor"))
        if isinstance(value, tf.Tensor | tf.Variable) and not made_in_use:
            raise MoxNotSupportedError(
                f"model_to_estimator got a model whose {type(optimizer).__name__} has a tensor"
                f" ({name}), which belongs to another graph. Give it a number; or {_MODEL_FN}."
            )
    made: Any = copy.copy(optimizer)
    made._slots, made._non_slot_dict = {}, {}
    return made


def _leave_eager_models_alone(recipe: Recipe) -> None:
    """Restores the base classes of Keras's classes, which graph building replaces."""
    from tensorflow.python import tf2
    from tensorflow.python.eager import context

    if not tf2.enabled():
        return
    layers = [*recipe.model._flatten_layers(), *recipe.model.metrics]
    with context.eager_mode():
        for kind in cast(dict[Any, None], {type(layer): None for layer in layers}):
            kind.__new__(kind)
