"""Computes the gradient of strided 1x1 convolutions in a way that does not crash on CPUs.

oneDNN, as TensorFlow 2.21 has it, writes outside of its memory when it computes the gradient of the
filter of a 1x1 convolution with strides and few input channels, and the process dies. Such a
convolution reads every s-th pixel, so its gradient equals the gradient of a convolution of these
pixels without strides. `tools/crashing_convolutions.py` looks for convolutions that crash.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_nn_ops

from moxing.engine.graph import devices

_OPERATION = "Conv2D"


def install() -> None:
    """From now on, this process computes the gradients of such convolutions by this module."""
    registry: dict[str, Any] = ops.gradient_registry._registry
    entry = registry[_OPERATION]
    original = entry["type"]
    if getattr(original, "of_openmox", False):
        return

    def gradient(op: Any, grad: tf.Tensor) -> Any:
        return _gradient(op, grad) if _may_crash(op) else original(op, grad)

    gradient.of_openmox = True  # type: ignore[attr-defined]
    registry[_OPERATION] = {**entry, "type": gradient}


def _may_crash(op: Any) -> bool:
    height_width = op.inputs[1].shape[:2]
    pointwise = height_width.rank == 2 and height_width.as_list() == [1, 1]
    strided = any(stride > 1 for stride in op.get_attr("strides"))
    explicit = _text(op.get_attr("padding")) == "EXPLICIT"
    return pointwise and strided and not explicit and not devices.has_gpu()


def _gradient(op: Any, grad: tf.Tensor) -> list[tf.Tensor]:
    x, weights = op.inputs
    strides, layout = op.get_attr("strides"), _text(op.get_attr("data_format"))
    shared = {"data_format": layout, "use_cudnn_on_gpu": op.get_attr("use_cudnn_on_gpu")}
    to_input = gen_nn_ops.conv2d_backprop_input(
        tf.shape(x), weights, grad, strides=strides, padding=_text(op.get_attr("padding")), **shared
    )
    # The strides of batches and channels are 1.
    read = tf.strided_slice(x, [0] * 4, tf.shape(x), strides)
    to_weights = gen_nn_ops.conv2d_backprop_filter(
        read, tf.shape(weights), grad, strides=[1] * 4, padding="VALID", **shared
    )
    return [to_input, to_weights]


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
