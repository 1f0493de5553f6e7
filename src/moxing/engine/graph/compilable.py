"""Looks in the graph of a step for what decides whether XLA makes it faster.

TensorFlow leaves out of XLA's clusters by itself what XLA can't compile: Python code, strings,
queues, TensorArrays, random numbers with a state, checks. This module looks for two causes of
slower steps: a cluster is compiled again for each shape that it gets, and a cluster that adds to
rows of a variable may copy all of the variable.
"""

from __future__ import annotations

from collections.abc import Iterable

import tensorflow.compat.v1 as tf

from moxing.engine.graph import blame, devices, hardware
from moxing.engine.graph.hardware import Work
from moxing.engine.wording import report
from moxing.framework import compiled_code
from moxing.logs import TENSORFLOW

# Operations that give a part of the input of each step.
_INPUTS = ("IteratorGetNext", "Dequeue", "Unstage", "PyFunc", "Placeholder", "ReaderRead")
# Operations of which the values of the inputs decide the shape of the outputs.
_DATA_SHAPED = (
    *("Where", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff"),
    *("DynamicPartition", "StringSplit", "StringSplitV2", "SparseFillEmptyRows"),
    *("DecodeJpeg", "DecodePng", "DecodeImage", "DecodeRaw", "ParseExample", "ParseExampleV2"),
    *(f"NonMaxSuppression{version}" for version in ("", "V2", "V3", "V4", "V5")),
)
_SCATTERS = ("ResourceScatter", "Scatter")


def choose(config: tf.ConfigProto, graph: tf.Graph) -> None:
    """Has a session compile its graph with XLA, if that makes steps faster; one line says which."""
    machine = devices.machine()
    if not machine.gpus or compiled_code.chosen_by_user():
        return
    against = hardware.against_xla(machine, work(graph.get_operations()))
    if against is None:
        hardware.compile_with_xla(config)
        TENSORFLOW.info("%s", report.compiled_by_xla(compiled_code.kept_in()))
    else:
        TENSORFLOW.info("%s", report.without_xla(against))


def work(operations: Iterable[tf.Operation]) -> Work:
    """Returns what XLA would compile of these operations, which are a graph's in its own order."""
    fed: set[str] = set()  # Operations of the step: they depend on its input.
    changing: set[str] = set()
    computed = unsteady = table = 0
    example = ""
    for op in operations:
        if _changes(op, changing):
            changing.add(op.name)
        if _is_input(op) or any(tensor.op.name in fed for tensor in op.inputs):
            fed.add(op.name)
        if op.name in fed and any(tensor.dtype.is_floating for tensor in op.outputs):
            computed += 1
            if op.name in changing:
                unsteady += 1
                example = example or blame.place(op)
        if op.type.startswith(_SCATTERS):
            table = max(table, _bytes(op.inputs[0]))
    return Work(computed, unsteady, example, table)


def _changes(op: tf.Operation, changing: set[str]) -> bool:
    """Whether an operation's outputs have other shapes in each step, judged by its inputs.

    A first dimension alone that is not known is the size of a batch, which only the last batch of
    the data changes.
    """
    numbers = [tensor for tensor in op.outputs if tensor.dtype not in (tf.resource, tf.variant)]
    shapes = [tensor.shape for tensor in numbers]
    if all(shape.is_fully_defined() for shape in shapes):
        return False
    if _is_input(op):
        return any(None in shape.as_list()[1:] for shape in shapes if shape.rank is not None)
    return op.type in _DATA_SHAPED or any(
        tensor.op.name in changing and not tensor.shape.is_fully_defined() for tensor in op.inputs
    )


def _is_input(op: tf.Operation) -> bool:
    return any(kind in op.type for kind in _INPUTS)


def _bytes(handle: tf.Tensor) -> int:
    """The size of the variable behind a handle or a reference; 0 where it is not known."""
    maker = handle.op
    try:
        shape, dtype = tf.TensorShape(maker.get_attr("shape")), tf.as_dtype(maker.get_attr("dtype"))
    except ValueError:  # Such as the handle of a loop's body.
        return 0
    return (shape.num_elements() or 0) * dtype.base_dtype.size
