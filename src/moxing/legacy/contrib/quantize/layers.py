"""The layers of a graph that `tf.contrib.quantize` rewrites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LAYERS = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
_READS = ("Identity", "ReadVariableOp")
_VARIABLES = ("VarHandleOp", "Variable", "VariableV2")


def layers(graph: Any, scope: str | None) -> Iterator[Any]:
    """Yields operations with a variable as weights, under a name scope where one is given."""
    inside = "" if scope is None else scope.rstrip("/") + "/"
    for op in list(graph.get_operations()):
        if op.type in LAYERS and op.name.startswith(inside) and is_variable(op.inputs[1]):
            yield op


def is_variable(tensor: Any) -> bool:
    """Whether a tensor is a variable that is read."""
    while tensor.op.type in _READS:
        tensor = tensor.op.inputs[0]
    return tensor.op.type in _VARIABLES


def context(op: Any) -> str:
    """The name scope of a layer, under which TensorFlow 1.15 put what it added."""
    return op.name.rpartition("/")[0] or op.name


def reroute(old: Any, new: Any, keep: Any = ()) -> None:
    """Makes the consumers of `old` read `new`, but for the operations in `keep`."""
    for op in old.consumers():
        if op in keep:
            continue
        for place, read in enumerate(op.inputs):
            if read is old:
                op._update_input(place, new)
