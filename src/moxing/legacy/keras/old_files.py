"""Lets tf_keras read the model files of Keras 1: `.h5` files and the JSON text of a model.

In a graph, `model.save("model.keras")` writes HDF5, as in TensorFlow 1.x.

A file of Keras 1 describes its layers by the arguments of that time, which are converted before
tf_keras reads the description. Weights are as they were; tf_keras itself converts those.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from moxing.errors import MoxNotSupportedError
from moxing.legacy.keras import old_arguments
from moxing.legacy.keras.merging import MODES
from moxing.legacy.keras.old_arguments import TABLE

_CLASSES = {
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution3D": "Conv3D",
    "AtrousConvolution1D": "Conv1D",
    "AtrousConvolution2D": "Conv2D",
    "Deconvolution2D": "Conv2DTranspose",
    "SeparableConvolution2D": "SeparableConv2D",
}
_GONE = ("Highway", "MaxoutDense", "TimeDistributedDense", "Graph")
# Arguments by which layers of Keras 1 described their input beside `batch_input_shape`.
_SHAPES = ("input_dim", "input_length")
# Arguments that regularizers and constraints had, and their names now.
_PARTS = {"m": "max_value"}
_PENALTIES = {"WeightRegularizer": "L1L2", "L1L2Regularizer": "L1L2", "ActivityRegularizer": "L1L2"}


def install() -> None:
    """Makes tf_keras read files of Keras 1 too, from now on."""
    from tf_keras.src import layers
    from tf_keras.src.layers import serialization
    from tf_keras.src.saving import saving_api
    from tf_keras.src.saving.legacy import hdf5_format, model_config

    if getattr(model_config.model_from_config, "reads_old_files", False):
        return
    saving_api.get_save_format = _of_graphs(saving_api.get_save_format)
    model_config.model_from_config = _of_config(model_config.model_from_config)
    from_json = _of_json(serialization.deserialize_from_json)
    serialization.deserialize_from_json = layers.deserialize_from_json = from_json
    hdf5_format.preprocess_weights_for_loading = _of_weights(
        hdf5_format.preprocess_weights_for_loading
    )


def _of_graphs(original: Callable[..., Any]) -> Callable[..., Any]:
    """The archive that `.keras` names today can be written in eager execution only."""
    import tensorflow.compat.v1 as tf

    @functools.wraps(original)
    def get_save_format(filepath: Any, save_format: str | None) -> str:
        found: str = original(filepath, save_format)
        return "h5" if found == "keras" and not tf.executing_eagerly() else found

    return get_save_format


def _of_config(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def model_from_config(config: Any, custom_objects: Any = None) -> Any:
        return original(converted(config, custom_objects or {}), custom_objects)

    model_from_config.reads_old_files = True  # type: ignore[attr-defined]
    return model_from_config


def _of_json(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def deserialize_from_json(json_string: str, custom_objects: Any = None) -> Any:
        config = json.loads(json_string)
        if str(config.get("keras_version", "")).startswith("1."):
            json_string = json.dumps(converted(config, custom_objects or {}))
        return original(json_string, custom_objects)

    return deserialize_from_json


def _of_weights(original: Callable[..., Any]) -> Callable[..., Any]:
    """tf_keras converts the weights of version "1", and some files say "1.2.2"."""

    @functools.wraps(original)
    def preprocess_weights_for_loading(
        layer: Any, weights: Any, original_keras_version: Any = None, original_backend: Any = None
    ) -> Any:
        version = str(original_keras_version or "")
        short = "1" if version.startswith("1.") else original_keras_version
        return original(layer, weights, short, original_backend)

    return preprocess_weights_for_loading


def converted(config: Any, custom: Mapping[str, Any]) -> Any:
    """Returns a model's description with its layers of Keras 1 in arguments that tf_keras takes.

    Args:
        config: the description, or a part of it.
        custom: the program's own classes by name, whose descriptions stay as they are.

    Raises:
        MoxNotSupportedError: a layer is gone since Keras 1; the message names it.
    """
    if isinstance(config, list):
        return [converted(part, custom) for part in config]
    if not isinstance(config, dict):
        return config
    found = {name: converted(part, custom) for name, part in config.items()}
    kind, given = found.get("class_name"), found.get("config")
    if not isinstance(kind, str) or not isinstance(given, dict) or kind in custom:
        return found
    if kind in _GONE or (kind == "Merge" and "layers" in given):
        raise MoxNotSupportedError(
            f"The file has the layer {given.get('name', '')!r} of the class {kind}, which is gone"
            " since Keras 1. Build the model in the program, and read its weights with"
            " load_weights(path, by_name=True)."
        )
    return {**found, **_layer(kind, given)}


def _layer(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the class and the arguments of a layer."""
    name = _CLASSES.get(kind, kind)
    if kind == "Merge":
        return _merge(given)
    old = [key for key in given if key in TABLE.get(name, {})]
    if not old and "input_dtype" not in given:
        return {"class_name": kind, "config": given}
    kept = {key: _named_part(value) for key, value in given.items()}
    if kept.get("mode", 0) != 0 and name == "BatchNormalization":
        raise MoxNotSupportedError(
            f"The file has the layer {kept.get('name')!r}, a BatchNormalization of"
            f" mode={kept['mode']}, and only mode=0 is left since Keras 1."
        )
    dtype = kept.pop("input_dtype", None)
    # In other layers `input_dtype` is not the type of the weights.
    if dtype is not None and name == "InputLayer":
        kept["dtype"] = dtype
    if name != "Embedding":
        for shape in _SHAPES:
            kept.pop(shape, None)
    _, config = old_arguments.converted(name, TABLE.get(name, {}), (), kept)
    return {"class_name": name, "config": config}


def _named_part(value: Any) -> Any:
    """Returns a regularizer or a constraint, which had its class's name beside its arguments."""
    if not isinstance(value, dict) or "name" not in value or "class_name" in value:
        return value
    arguments = {_PARTS.get(key, key): part for key, part in value.items() if key != "name"}
    return {"class_name": _PENALTIES.get(value["name"], value["name"]), "config": arguments}


def _merge(given: Mapping[str, Any]) -> dict[str, Any]:
    mode, name = given.get("mode"), {"name": given.get("name")}
    if mode == "concat":
        return {"class_name": "Concatenate", "config": {**name, "axis": given["concat_axis"]}}
    if mode in ("dot", "cos"):
        config = {**name, "axes": given["dot_axes"], "normalize": mode == "cos"}
        return {"class_name": "Dot", "config": config}
    if mode in MODES:
        return {"class_name": MODES[mode], "config": name}
    raise MoxNotSupportedError(
        f"The file has the layer {given.get('name')!r}, a Merge whose mode is a function of the"
        " program that wrote it. Build the model in the program, and read its weights with"
        " load_weights(path, by_name=True)."
    )
