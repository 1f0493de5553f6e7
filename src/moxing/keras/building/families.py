"""The differences between Keras 3 and tf_keras: their variables, and how a model is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.keras.building.trace import eager_mode


@dataclass(frozen=True)
class Family:
    """Either Keras 3 or tf_keras.

    Attributes:
        name: "Keras 3" or "tf_keras".
        package: the name of the Python package, "keras" or "tf_keras".
        plain: returns the TensorFlow variable of a Keras variable.
        path: returns the name of a Keras variable.
        ready: builds all variables of a compiled model from the specs of a batch, also the
            variables of losses and metrics, but not the optimizer's.
        optimizer_variables: returns the optimizer's variables in a fixed order.
    """

    name: str
    package: str
    plain: Callable[[Any], Any]
    path: Callable[[Any], str]
    ready: Callable[[Any, tuple[Any, ...]], None]
    optimizer_variables: Callable[[Any], Sequence[Any]]


def of(model: Any, face: str = "fit") -> Family:
    """Returns the family of a model; `face` is the name of the called function.

    Raises:
        MoxTypeError: `model` is not a Keras model.
    """
    for kind in type(model).__mro__:
        package = kind.__module__.split(".")[0]
        if kind.__name__ in ("Model", "Functional", "Sequential") and package in _FAMILIES:
            return _FAMILIES[package]
    raise MoxTypeError(
        f"{face} has model={shown(model)}; it must be a keras.Model, of Keras 3 or tf_keras."
    )


def check_backend(family: Family) -> None:
    """Raises an error if the backend of Keras 3 is not TensorFlow.

    Raises:
        MoxValueError: another backend is in use; the message names it.
    """
    if family.package != "keras":
        return
    import keras

    if keras.config.backend() != "tensorflow":
        raise MoxValueError(
            f"Keras uses the backend {keras.config.backend()!r}; moxing.keras.fit needs TensorFlow:"
            " set KERAS_BACKEND=tensorflow in the environment."
        )


def layers_of(model: Any) -> list[Any]:
    """Returns every layer of a model in order; a nested model counts as a layer."""
    walk = getattr(model, "_flatten_layers", None)
    return [layer for layer in walk() if layer is not model] if walk else list(model.layers)


def _ready_keras3(model: Any, element: tuple[Any, ...]) -> None:
    # Keras reads shapes and dtypes only. An unknown batch size becomes 1.
    batch = tf.nest.map_structure(lambda spec: _Shaped(_one(spec), spec.dtype), element)
    model._symbolic_build(data_batch=batch)


def _ready_tf_keras(model: Any, element: tuple[Any, ...]) -> None:
    def build(x: Any, y: Any, weight: Any) -> None:
        predicted = model(x, training=False)
        # Losses and metrics make their variables at their first call.
        model.compute_loss(x, y, predicted, weight)
        model.compute_metrics(x, y, predicted, weight)

    # Like tf_keras itself, trace the function, so that unknown sizes stay unknown.
    specs = (*element, None, None)[:3]
    tf.function(build, autograph=False).get_concrete_function(*specs)
    model.reset_metrics()


def has_own_step(model: Any) -> bool:
    """Whether the program has written the model's `train_step`."""
    step = getattr(type(model), "train_step", None)
    return (step.__module__ if step else "").partition(".")[0] not in _FAMILIES


def build_by_step(
    model: Any, pack: Callable[[list[Any]], Any], specs: Sequence[tf.TensorSpec]
) -> None:
    """Builds all variables of a model by a trace of its `train_step`, as Keras' own `fit` does.

    Args:
        model: the compiled model.
        pack: packs the flat tensors of a batch into the argument of `train_step`.
        specs: the specs of the flat tensors.
    """

    def step(*flat: Any) -> Any:
        return model.train_step(pack(list(flat)))

    tf.function(step, autograph=False).get_concrete_function(*specs)


@dataclass(frozen=True)
class _Shaped:
    """The shape and dtype that Keras 3 needs to build a model."""

    shape: tuple[int | None, ...]
    dtype: tf.DType


def _one(spec: Any) -> tuple[int | None, ...]:
    shape = tf.TensorShape(spec._shape if isinstance(spec, tf.RaggedTensorSpec) else spec.shape)
    sizes = shape.as_list()
    return (sizes[0] or 1, *sizes[1:]) if sizes else ()


def build_optimizer(model: Any) -> None:
    """Makes the compiled optimizer's variables for each weight, unless they exist."""
    make_slots(model.optimizer, model.trainable_variables)


def make_slots(optimizer: Any, variables: Sequence[Any]) -> None:
    """Makes an optimizer's variables for the weights that it updates, unless they exist."""
    if hasattr(optimizer, "_create_all_weights"):
        optimizer._create_all_weights(variables)
    elif not getattr(optimizer, "built", getattr(optimizer, "_built", False)):
        optimizer.build(variables)


def _variables_of_tf_keras(optimizer: Any) -> list[Any]:
    """Returns the optimizer's variables; legacy optimizers keep hyperparameters separately."""
    variables: Any = optimizer.variables
    if callable(variables):
        variables = variables()
    found = list(variables)
    hyper = getattr(optimizer, "_hyper", {})
    found += [value for _, value in sorted(hyper.items()) if hasattr(value, "handle")]
    return found


def weights(family: Family, model: Any) -> list[Any]:
    """Returns every variable of a model, except the variables of metrics, without duplicates."""
    metrics = {id(family.plain(v)) for metric in model.metrics for v in metric.variables}
    # tf_keras lists the vocabularies of lookup layers, too, which have no name.
    found = {id(family.plain(v)): v for v in model.variables if hasattr(v, "name")}
    return [v for key, v in found.items() if key not in metrics]


def read(variables: Sequence[Any]) -> list[np.ndarray]:
    """Returns the values of eager TensorFlow variables."""
    with eager_mode():
        return [np.asarray(variable.numpy()) for variable in variables]


def write(variables: Sequence[Any], values: Sequence[np.ndarray]) -> None:
    """Assigns values to eager TensorFlow variables."""
    with eager_mode():
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)


_FAMILIES = {
    "keras": Family(
        "Keras 3",
        "keras",
        plain=lambda v: getattr(v, "value", v) if hasattr(v, "path") else v,
        path=lambda v: getattr(v, "path", None) or v.name,
        ready=_ready_keras3,
        optimizer_variables=lambda optimizer: optimizer.variables,
    ),
    "tf_keras": Family(
        "tf_keras",
        "tf_keras",
        plain=lambda v: v,
        path=lambda v: v.name,
        ready=_ready_tf_keras,
        optimizer_variables=_variables_of_tf_keras,
    ),
}
