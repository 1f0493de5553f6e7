"""Functions of TensorFlow 1.x that are still there, but tell or take less than they did."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import tensor_util
from tensorflow.python.tools import freeze_graph as freezing

from moxing.engine.graph import devices


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """`tf.assign`, which gives a resource variable a value of another shape if it is told to.

    TensorFlow 2.x ignores `validate_shape=False` for resource variables of a fixed shape, so that
    programs could not collect values in a variable that begins without elements.
    """
    if validate_shape is False and hasattr(ref, "handle") and not tf.executing_eagerly():
        value = tf.convert_to_tensor(value, dtype=ref.dtype.base_dtype)
        if not value.shape.is_fully_defined() or value.shape != ref.shape:
            assigned = tf.raw_ops.AssignVariableOp(
                resource=ref.handle, value=value, validate_shape=False, name=name
            )
            with tf.control_dependencies([assigned]):
                return tf.raw_ops.ReadVariableOp(resource=ref.handle, dtype=value.dtype)
    return tf.assign(ref, value, validate_shape, use_locking, name)


def conv2d_transpose(
    value: Any = None, filter: Any = None, output_shape: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """`tf.nn.conv2d_transpose`, whose result has all of `output_shape` as its static shape.

    TensorFlow 2.x takes the batch from `value` alone, so that it is unknown where `value` came
    from a placeholder of any batch; programs then reshape to the result's static shape.
    """
    result = tf.nn.conv2d_transpose(value, filter, output_shape, *args, **kwargs)
    if not tf.executing_eagerly() and result.op.type == "Conv2DBackpropInput":
        result.set_shape(tensor_util.constant_value_as_shape(result.op.inputs[0]))
    return result


def is_built_with_cuda() -> bool:
    """Whether there is a GPU to use.

    TensorFlow 1.x came as two packages, and machines without a GPU had the one without CUDA;
    programs choose between the layouts NCHW and NHWC, or devices, by this answer. TensorFlow 2.x
    is one package, in which many kernels for CPUs take NHWC alone.
    """
    return tf.test.is_built_with_cuda() and devices.has_gpu()


def freeze_graph(*args: Any, **kwargs: Any) -> Any:
    """`freeze_graph.freeze_graph`, one of whose arguments had another name."""
    return freezing.freeze_graph(*args, **_as_now(kwargs))


def freeze_graph_with_def_protos(*args: Any, **kwargs: Any) -> Any:
    """`freeze_graph.freeze_graph_with_def_protos`, one of whose arguments had another name."""
    return freezing.freeze_graph_with_def_protos(*args, **_as_now(kwargs))


def _as_now(kwargs: dict[str, Any]) -> dict[str, Any]:
    old, new = "variable_names_blacklist", "variable_names_denylist"
    return {new if name == old else name: value for name, value in kwargs.items()}


class GFile(tf.gfile.GFile):
    """`tf.gfile.GFile`, which reads a whole binary file that was opened as text as bytes.

    Programs of Python 2 read images and protocol buffers so: there `'r'` and `'rb'` were the same.
    """

    def read(self, n: int = -1) -> Any:
        """The next `n` bytes, or the rest of the file: as text if the mode and the file are."""
        if "r" not in self.mode or "b" in self.mode:
            return super().read(n)
        start = self.tell()
        try:
            return super().read(n)
        except UnicodeDecodeError:
            with tf.gfile.GFile(self.name, "rb") as binary:
                binary.seek(start)
                return binary.read(n)


class FastGFile(GFile):
    """`tf.gfile.FastGFile`."""
