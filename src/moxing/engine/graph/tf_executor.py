"""Chooses the TensorFlow executor that suits a graph.

TensorFlow's default executor hands every operation to a thread pool. On a CPU, for a graph of many
small operations, these hand-overs cost more than the operations: the single-threaded executor then
makes a step 1.5 to 2.2 times faster. It runs operations one after another, so it is slow for a
graph whose heavy operations could run in parallel. It can't run operations that wait for another
operation of the same step (queues), nor TensorFlow 1's control flow and reference variables. Nested
conditionals, such as those of `tf.train.piecewise_constant`, make it deadlock.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import tensorflow.compat.v1 as tf

SINGLE_THREADED = "SINGLE_THREADED_EXECUTOR"

# Number of multiply-adds in an operation above which running it on several threads saves more than
# avoiding hand-overs: about a millisecond of one core.
_HEAVY = 4_000_000
_BLOCKING = ("Queue", "Barrier", "Stage", "Reader", "Recv", "Collective", "Accumulator")
_FIRST_GENERATION = (
    *("Switch", "RefSwitch", "Merge", "Enter", "NextIteration", "LoopCond"),
    *("Variable", "VariableV2", "TemporaryVariable"),
)
_CONDITIONAL = ("If", "StatelessIf", "Case", "StatelessCase")
_HEAVY_TYPES = ("Conv", "DepthwiseConv", "MatMul", "Einsum", "RNN", "LSTM", "GRU", "While", "Fft")


def choose(operations: Iterable[tf.Operation]) -> str:
    """The `executor_type` of a session that runs these operations; "" is TensorFlow's default."""
    for op in operations:
        if op.type in (*_FIRST_GENERATION, *_CONDITIONAL):
            return ""
        if any(part in op.type for part in _BLOCKING):
            return ""
        if any(part in op.type for part in _HEAVY_TYPES) and _is_heavy(op):
            return ""
    return SINGLE_THREADED


def _is_heavy(op: tf.Operation) -> bool:
    if op.type not in ("MatMul", "BatchMatMul", "BatchMatMulV2"):
        return True
    left, right, result = (_size(t) for t in (op.inputs[0], op.inputs[1], op.outputs[0]))
    # For C = A B, |A| |B| |C| = (m k n)^2 in number of elements.
    return math.sqrt(left * right * result) > _HEAVY


def _size(tensor: tf.Tensor) -> int:
    """The number of elements; an unknown dimension, usually the batch, counts as 128."""
    if tensor.shape.rank is None:
        return _HEAVY
    return math.prod(128 if size is None else size for size in tensor.shape.as_list())
