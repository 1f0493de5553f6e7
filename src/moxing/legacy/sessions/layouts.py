"""Lets TensorFlow rewrite graphs from the layout NCHW to NHWC on CPUs, also with `tf.where`.

TensorFlow's layout optimizer leaves a whole graph as it is if `tf.where` chooses between images and
a scalar, as in `tf.nn.dropout` and in gradients: the optimizer would transpose the scalar too. So
in graphs that have the layout NCHW, such a scalar is given the shape of the images.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework.ops import SymbolicTensor

from moxing.engine.graph import devices
from moxing.engine.graph.rewrites import operands

_MARK = "mox_has_nchw"
_RANK = 4
_CHOICE = "SelectV2"
_WITH_LAYOUT = (
    "AvgPool",
    "BiasAdd",
    "Conv2D",
    "Conv2DBackpropInput",
    "DepthToSpace",
    "DepthwiseConv2dNative",
    "FusedBatchNorm",
    "FusedBatchNormV2",
    "FusedBatchNormV3",
    "MaxPool",
    "MaxPoolV2",
    "SpaceToDepth",
)


def install() -> None:
    """Gives scalars of `tf.where` the shape of images from now on, unless there is a GPU."""
    if not devices.has_gpu():
        operands.change(_WITH_LAYOUT, _note_layout)
        operands.change((_CHOICE,), _in_one_shape)


def _note_layout(graph: tf.Graph, inputs: Any, attributes: dict[str, Any]) -> Any:
    """Marks the graph if the operation works on images in the layout NCHW."""
    layout = attributes.get("data_format")
    if layout is not None and layout.s == b"NCHW":
        setattr(graph, _MARK, True)
    return inputs


def _in_one_shape(graph: tf.Graph, inputs: Any, attributes: dict[str, Any]) -> Any:
    if not getattr(graph, _MARK, False):
        return inputs
    with graph.as_default():
        return _of_one_shape(inputs)


def _of_one_shape(inputs: Any) -> Any:
    """Returns condition and values of `tf.where`, with a scalar value in the shape of images."""
    if not all(isinstance(item, SymbolicTensor) for item in inputs):
        return inputs
    images = next((item for item in inputs[1:] if item.shape.rank == _RANK), None)
    if images is None or all(item.shape.rank for item in inputs[1:]):
        return inputs
    values = [v if v.shape.rank else tf.broadcast_to(v, tf.shape(images)) for v in inputs[1:]]
    return [inputs[0], *values]
