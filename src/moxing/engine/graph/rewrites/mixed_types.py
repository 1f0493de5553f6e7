"""Lets operations of a graph take 16-bit and 32-bit operands at once, which TensorFlow refuses.

With 16-bit computation the activations are 16-bit, and the variables that a program makes itself
are float32. TensorFlow calls dispatchers for an operation whose operands it refuses: the dispatcher
here reads such variables as the 16-bit type, and computes the rest in float32, such as the
difference of 16-bit predictions and float32 labels. Operations that TensorFlow accepts stay as they
are.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.variable_scope import _LazyEvalTensor
from tensorflow.python.util import dispatch

_MARK = "openmox/mixed_types"
_SHORT = (tf.float16, tf.bfloat16)
# A regularization loss is a _LazyEvalTensor until an operation reads it.
_OPERANDS = (tf.Tensor, tf.compat.v2.Variable, tf.SparseTensor, tf.IndexedSlices, _LazyEvalTensor)
_VIEWS = ("Identity", "Reshape", "Transpose", "ExpandDims", "Squeeze", "StridedSlice", "Slice")
_STORED = ("ReadVariableOp", "VariableV2", "Variable")


def allow() -> None:
    """From now on, operations of the current graph may mix the types."""
    if not tf.get_collection(_MARK):
        tf.add_to_collection(_MARK, True)
    if not any(isinstance(known, _Mixed) for known in dispatch._GLOBAL_DISPATCHERS):
        _Mixed().register()


class _Mixed(dispatch.GlobalOpDispatcher):
    """Calls an operation again that TensorFlow refused, with operands of one type."""

    def handle(self, op: Any, args: Any, kwargs: Any) -> Any:
        if not tf.get_collection(_MARK):
            return self.NOT_SUPPORTED
        operands = [item for item in tf.nest.flatten((args, kwargs)) if _is_float(item)]
        short = next((o.dtype.base_dtype for o in operands if o.dtype.base_dtype in _SHORT), None)
        long = [item for item in operands if item.dtype.base_dtype == tf.float32]
        if short is None or not long:
            return self.NOT_SUPPORTED
        target = short if all(_is_variable(item) for item in long) else tf.float32

        def cast(item: Any) -> Any:
            return tf.cast(item, target) if _is_float(item) else item

        args, kwargs = tf.nest.map_structure(cast, (args, kwargs))
        return op(*args, **kwargs)


def _is_float(item: Any) -> bool:
    return isinstance(item, _OPERANDS) and item.dtype.base_dtype in (*_SHORT, tf.float32)


def _is_variable(item: Any) -> bool:
    """Whether an operand is a variable, or the value that TensorFlow read of it for the call."""
    if not isinstance(item, tf.Tensor):
        return isinstance(item, tf.compat.v2.Variable)
    op = item.op
    while op.type in _VIEWS:
        op = op.inputs[0].op
    return op.type in _STORED
