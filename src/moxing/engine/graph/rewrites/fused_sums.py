"""Keeps TensorFlow from adding a wrong tensor where it fuses `matmul(a, b) * scale + c`.

Where TensorFlow 2.21 has oneDNN's fused operation, it always adds the first output of the operation
that makes `c`, even if `c` is another output of that operation, such as the second part of a
`tf.split`. So a sum gets such a `c` through an operation with one output, which changes nothing
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework.ops import SymbolicTensor

from moxing.engine.graph.rewrites import operands

_SUMS = ("Add", "AddV2")
_PRODUCTS = ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatMul")
# Operations that TensorFlow's optimizers take out of a graph, so that the next ones meet.
_PASSING = ("Identity", "StopGradient", "PreventGradient", "Reshape", "Cast")


def install() -> None:
    """From now on, sums that may be fused have single outputs as inputs, in all graphs."""
    operands.change(_SUMS, _single_outputs)


def _single_outputs(graph: tf.Graph, inputs: Any, attributes: dict[str, Any]) -> Any:
    """The inputs of a sum, each the only output of its operation if the sum may be fused."""
    if not _may_fuse(inputs):
        return inputs
    with graph.as_default():
        return [single_output(item) for item in inputs]


def single_output(tensor: Any) -> Any:
    """The tensor as the only output of an operation; other values stay as they are."""
    if not isinstance(tensor, SymbolicTensor) or _source(tensor).value_index == 0:
        return tensor
    with tf.device(tensor.device):
        return tf.ensure_shape(tensor, tensor.shape)  # An identity would be optimized away.


def _may_fuse(inputs: Sequence[Any]) -> bool:
    if not all(isinstance(item, SymbolicTensor) for item in inputs):
        return False
    return any(_is_scaled_product(item) for item in inputs)


def _is_scaled_product(tensor: tf.Tensor) -> bool:
    op = _source(tensor).op
    return op.type == "Mul" and any(_source(item).op.type in _PRODUCTS for item in op.inputs)


def _source(tensor: tf.Tensor) -> tf.Tensor:
    while tensor.op.type in _PASSING:
        tensor = tensor.op.inputs[0]
    return tensor
