"""Lets Keras' layers compute channels-first images on a CPU, as in Keras 1 and 2.

TensorFlow's CPU kernels need channels last. Keras' backend swapped the axes before and after these
kernels, but tf_keras' layers no longer call the backend.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import devices

_FIRST, _LAST = "channels_first", "channels_last"


def install() -> None:
    """Makes convolutions, pooling and normalization accept channels first on a CPU, from now on."""
    from tf_keras.src.layers.convolutional.base_conv import Conv
    from tf_keras.src.layers.normalization.batch_normalization import BatchNormalizationBase
    from tf_keras.src.layers.pooling.base_pooling2d import Pooling2D
    from tf_keras.src.layers.pooling.base_pooling3d import Pooling3D

    _wrap(Conv, "convolution_op", ("_tf_data_format",))
    for kind in (Pooling2D, Pooling3D):
        _wrap(kind, "call", ("data_format",))
    _unfuse(BatchNormalizationBase)


def _wrap(kind: Any, method: str, formats: tuple[str, ...]) -> None:
    """Makes a method compute with channels last if the layer's channels are first."""
    original = getattr(kind, method)
    if getattr(original, "takes_both_orders", False):
        return

    @functools.wraps(original)
    def call(self: Any, inputs: Any, *others: Any) -> Any:
        if self.data_format != _FIRST or devices.has_gpu():
            return original(self, inputs, *others)
        known = {name: getattr(self, name) for name in formats}
        for name, value in known.items():
            last = _LAST if value == _FIRST else f"N{value.replace('NC', '')}C"
            setattr(self, name, last)
        try:
            return _moved(original(self, _moved(inputs, to_last=True), *others), to_last=False)
        finally:
            for name, value in known.items():
                setattr(self, name, value)

    call.takes_both_orders = True  # type: ignore[attr-defined]
    setattr(kind, method, call)


def _moved(tensor: Any, to_last: bool) -> Any:
    rank = tensor.shape.rank
    inside = list(range(2, rank)) if to_last else list(range(1, rank - 1))
    return tf.transpose(tensor, [0, *inside, 1] if to_last else [0, rank - 1, *inside])


def _unfuse(kind: Any) -> None:
    """Makes a normalization of the first axis use plain operations, which accept every order."""
    original = kind.build
    if getattr(original, "takes_both_orders", False):
        return

    @functools.wraps(original)
    def build(self: Any, input_shape: Any) -> None:
        original(self, input_shape)
        if self.fused and str(getattr(self, "_data_format", "")).startswith("NC"):
            self.fused = devices.has_gpu()

    build.takes_both_orders = True  # type: ignore[attr-defined]
    kind.build = build


def deconvolution() -> Any:
    """Returns Keras 1's Deconvolution2D: a Conv2DTranspose of a stated output shape."""
    from tf_keras import layers

    class Conv2DTranspose(layers.Conv2DTranspose):
        def __init__(self, *given: Any, output_shape: Any = None, **named: Any) -> None:
            if len(given) > 3 and isinstance(given[3], tuple | list):
                given, output_shape = (*given[:3], *given[4:]), given[3]
            self._wanted = output_shape
            super().__init__(*given, **named)

        def build(self, input_shape: Any) -> None:
            if self._wanted is not None:
                first = 2 if self.data_format == _FIRST else 1
                sizes = zip(
                    self._wanted[first : first + 2],
                    tf.TensorShape(input_shape).as_list()[first : first + 2],
                    self.strides,
                    self.kernel_size,
                    strict=True,
                )
                self.output_padding = tuple(
                    wanted - (size - 1) * stride - kernel + 2 * (kernel // 2) * self._pads()
                    for wanted, size, stride, kernel in sizes
                )
            super().build(input_shape)

        def _pads(self) -> int:
            return int(self.padding == "same")

    return Conv2DTranspose
