"""Attributes of tensors and models in Keras up to 2.2: `_keras_shape`, `uses_learning_phase`."""

from __future__ import annotations

from typing import Any


class _Shape:
    """`tensor._keras_shape`: the static shape, or the shape that the program set."""

    def __get__(self, tensor: Any, kind: type | None = None) -> Any:
        if tensor is None:
            return self
        if "_keras_shape" in vars(tensor):
            return vars(tensor)["_keras_shape"]
        if tensor.shape.rank is None:
            raise AttributeError(f"_keras_shape of {tensor.name}: its rank is not known.")
        return tuple(tensor.shape.as_list())

    def __set__(self, tensor: Any, shape: Any) -> None:
        vars(tensor)["_keras_shape"] = shape


class _LearningPhase:
    """`model.uses_learning_phase`: whether a layer of the model differs between training and not.

    Programs give `K.learning_phase()` to `K.function` then. It has no setter: a model that sets an
    attribute of that name has its own.
    """

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        if model is None:
            return self
        return any(_differs(layer) for layer in model._flatten_layers(include_self=False))


def install() -> None:
    """Gives tensors of graphs and tf_keras' models these attributes from now on."""
    from tensorflow.python.framework import tensor
    from tf_keras.src.engine import training

    of_tensors: Any = tensor.Tensor
    of_tensors._keras_shape = _Shape()
    of_models: Any = training.Model
    of_models.uses_learning_phase = _LearningPhase()


def _differs(layer: Any) -> bool:
    from tf_keras import layers
    from tf_keras.src.engine import base_layer

    if isinstance(layer, base_layer.BaseRandomLayer):
        rates = [getattr(layer, name, 0) for name in ("dropout", "recurrent_dropout")]
        return not hasattr(layer, "recurrent_dropout") or any(rates)
    return isinstance(layer, layers.BatchNormalization) or bool(
        vars(layer).get("uses_learning_phase")
    )
