"""Lets TensorFlow rewrite the layout NCHW of images to NHWC where a choice has a scalar.

Its optimizer gives up a whole graph in which `tf.where` chooses between images and one number, as
in `tf.nn.dropout` and in gradients: it transposes the number too. So in graphs that have the layout
NCHW, such a number is given the shape of the images.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework.ops import SymbolicTensor

from moxing.engine.graph import devices

_MARK = "mox_has_nchw"
_RANK = 4


def install() -> None:
    """From now on graphs of this process are made in the way of this module."""
    original: Any = tf.Graph._create_op_internal  # type: ignore[attr-defined]
    if hasattr(original, "mox_layouts"):
        return

    @functools.wraps(original)
    def create(self: tf.Graph, op_type: str, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        layout = (kwargs.get("attrs") or {}).get("data_format")
        if layout is not None and layout.s == b"NCHW":
            setattr(self, _MARK, True)
        if op_type == "SelectV2" and getattr(self, _MARK, False) and not devices.has_gpu():
            with self.as_default():
                inputs = _of_one_shape(inputs)
        return original(self, op_type, inputs, *args, **kwargs)

    create.mox_layouts = True  # type: ignore[attr-defined]
    tf.Graph._create_op_internal = create  # type: ignore[attr-defined]


def _of_one_shape(inputs: Any) -> Any:
    """Returns the condition and both values of a choice, scalars in the shape of images."""
    if not all(isinstance(item, SymbolicTensor) for item in inputs):
        return inputs
    images = next((item for item in inputs[1:] if item.shape.rank == _RANK), None)
    if images is None or all(item.shape.rank for item in inputs[1:]):
        return inputs
    values = [v if v.shape.rank else tf.broadcast_to(v, tf.shape(images)) for v in inputs[1:]]
    return [inputs[0], *values]
