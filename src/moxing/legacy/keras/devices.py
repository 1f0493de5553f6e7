"""Layers and functions of Keras 2 that were made for GPUs, on the available devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW


def multi_gpu_model(
    model: Any, gpus: Any = None, cpu_merge: bool = True, cpu_relocation: bool = False
) -> Any:
    """Returns a model that splits each batch over several GPUs, or computes it on one device.

    Args:
        model: the model, whose weights the new model shares.
        gpus: the number of GPUs, or a list of the GPUs' indices; None: all.
        cpu_merge, cpu_relocation: not used: TensorFlow places the weights.

    Raises:
        MoxValueError: fewer than 2 GPUs, or GPUs that do not exist.
    """
    del cpu_merge, cpu_relocation
    there = len(tf.config.list_physical_devices("GPU"))
    numbers = list(gpus) if isinstance(gpus, list | tuple) else list(range(gpus or there))
    if isinstance(gpus, int) and gpus <= 1:
        raise MoxValueError(f"multi_gpu_model has gpus={gpus}; it must be at least 2.")
    if there == 0:
        TENSORFLOW.warning(
            "multi_gpu_model(gpus=%s): this machine has no GPU, so the model runs on the CPU as it"
            " is, with the same results.",
            gpus,
        )
        return model
    if any(number >= there for number in numbers):
        raise MoxValueError(
            f"multi_gpu_model has gpus={gpus}, and there are {there} GPUs here. Give gpus={there}"
            " or less, or leave multi_gpu_model out."
        )
    return _parallel(model, numbers)


def _parallel(model: Any, numbers: list[int]) -> Any:
    from tf_keras import layers, models

    def part(tensor: Any, index: int) -> Any:
        size = tf.shape(tensor)[0]
        low, high = index * size // len(numbers), (index + 1) * size // len(numbers)
        return tensor[low:high]

    found: list[list[Any]] = [[] for _ in model.outputs]
    for index, number in enumerate(numbers):
        with tf.device(f"/gpu:{number}"):
            inputs = [
                layers.Lambda(part, arguments={"index": index}, name=f"part_{n}_{index}")(tensor)
                for n, tensor in enumerate(model.inputs)
            ]
            outputs = tf.nest.flatten(model(inputs[0] if len(inputs) == 1 else inputs))
        for held, output in zip(found, outputs, strict=True):
            held.append(output)
    with tf.device("/cpu:0"):
        merged = [
            layers.Concatenate(axis=0, name=name)(held)
            for name, held in zip(model.output_names, found, strict=True)
        ]
    return models.Model(model.inputs, merged[0] if len(merged) == 1 else merged)


def cudnn(name: str, plain: str) -> Callable[[], Any]:
    """Returns `CuDNNLSTM` or `CuDNNGRU` for the face: on a CPU, a layer with the same formula."""

    def load() -> Any:
        from tf_keras.api._v1.keras import layers

        if tf.config.list_physical_devices("GPU"):
            return getattr(layers, name)

        def layer(units: Any, **named: Any) -> Any:
            named.setdefault("recurrent_activation", "sigmoid")
            if plain == "GRU":
                named.setdefault("reset_after", True)
            return getattr(layers, plain)(units, **named)

        layer.__name__ = name
        return layer

    return load
