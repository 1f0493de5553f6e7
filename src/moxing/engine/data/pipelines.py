"""Describes tf.data pipelines behind a step: their iterators, what they hold, their identity."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry

ITERATORS = ("OneShotIterator", "IteratorV2", "Iterator")
_READS = ("IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional")
_FED = ("IteratorFromStringHandle", "IteratorFromStringHandleV2")
_HANDED_OUT = "IteratorToStringHandle"

# Datasets whose iterators were read back in TensorFlow 2.21 at exactly the next element. Others
# raise errors, or crash the process (a cache in a file that is gone).
_SAVED = frozenset(
    f"{name}Dataset{version}"
    for name in (
        *("AssertCardinality", "Batch", "Cache", "Concatenate", "DenseToSparseBatch"),
        *("DirectedInterleave", "ExperimentalDirectedInterleave", "ExperimentalGroupByReducer"),
        *("ExperimentalGroupByWindow", "ExperimentalScan", "ExperimentalUnbatch", "Filter"),
        *("FixedLengthRecord", "FlatMap", "GroupByReducer", "GroupByWindow", "IgnoreErrors"),
        *("Interleave", "LegacyParallelInterleave", "Map", "MapAndBatch", "Model", "Optimize"),
        *("Options", "PaddedBatch", "ParallelBatch", "ParallelInterleave", "ParallelMap"),
        *("ParseExample", "Prefetch", "Random", "Range", "Rebatch", "Repeat", "Rewrite", "Scan"),
        *("Shard", "Shuffle", "ShuffleAndRepeat", "Skip", "SparseTensorSlice", "TFRecord", "Take"),
        *("TakeWhile", "Tensor", "TensorSlice", "TextLine", "Unbatch", "Unique", "Window", "Zip"),
        *("CSV", "Finalize"),
    )
    for version in ("", "V2", "V3", "V4")
)
_TUNING = ("num_parallel_calls", "buffer_output_elements", "prefetch_input_elements")
_SMALL = 16


def iterators(step: Iterable[tf.Operation | tf.Tensor], graph: tf.Graph) -> list[tf.Operation]:
    """The iterators that a step reads, in a fixed order."""
    behind = list(ancestry.behind(step))
    found = {op.name: op for op in behind if op.type in ITERATORS}
    if any(op.type in _FED for op in behind):
        handles = (op for op in graph.get_operations() if op.type == _HANDED_OUT)
        given = (op.inputs[0].op for op in handles)
        found |= {op.name: op for op in given if op.type in ITERATORS}
    return [found[name] for name in sorted(found)]


def reads(step: Iterable[tf.Operation | tf.Tensor]) -> list[tf.Operation]:
    """The operations by which a step takes elements of its iterators."""
    return [op for op in ancestry.behind(step) if op.type in _READS]


class Pipeline:
    """One iterator's datasets, as the graph describes them.

    Attributes:
        iterator: the operation of the iterator.
        initializer: operation that moves the iterator to its beginning; None: the iterator's first
            use does so, or the graph has several such operations.
    """

    def __init__(self, iterator: tf.Operation) -> None:
        graph = iterator.graph
        self.iterator = iterator
        # Only functions' constants are read: a graph can hold the data as constants.
        definition = tf.GraphDef()
        graph._copy_functions_to_graph_def(definition, 0)
        self._library = {f.signature.name: f for f in definition.library.function}
        makers = [op for op in iterator.outputs[0].consumers() if op.type == "MakeIterator"]
        self.initializer = makers[0] if len(makers) == 1 else None
        self._roots = [maker.inputs[0] for maker in makers]
        self._functions = list(self._reached())

    def refusal(self) -> str | None:
        """Why the iterator can't be saved; None: it can, as far as its datasets tell."""
        for kind, filename in self._datasets():
            if kind == "GeneratorDataset":
                return "TensorFlow can't save a Python generator"
            if kind.startswith("CacheDataset") and filename:
                return "TensorFlow can't save a place in a cache that is a file"
            if kind not in _SAVED:
                return f"TensorFlow can't save a {kind}"
        return None

    def held_bytes(self) -> int:
        """Bytes of the buffers that shuffle elements, as far as the graph knows their shapes."""
        total = 0
        for op in ancestry.behind(self._roots):
            if op.type.startswith("Shuffle"):
                size = tf.get_static_value(op.inputs[1])
                total += max(int(size), 0) * _element_bytes(op) if size is not None else 0
        return total

    def fingerprint(self, values: bool = True) -> str:
        """Identifies the pipeline by its operations, types, shapes and small numbers.

        Names of files and settings of speed do not count.

        Args:
            values: whether numbers, such as the size of a batch, count.
        """
        whole = hashlib.sha256()
        for op in ancestry.behind(self._roots):
            whole.update(repr((op.type, _types(op), _value(op) if values else None)).encode())
        for function in self._functions:
            for node in function.node_def:
                value = node.attr["value"].tensor if values and node.op == "Const" else None
                whole.update(repr((node.op, _described(value))).encode())
        return whole.hexdigest()[:16]

    def data(self) -> str:
        """Identifies the arrays that the graph holds for the pipeline's datasets."""
        whole = hashlib.sha256()
        for op in ancestry.behind(self._roots):
            size = op.outputs[0].shape.num_elements() if op.type == "Const" else None
            if size is not None and size > _SMALL:
                whole.update(op.get_attr("value").SerializeToString(deterministic=True))
        return whole.hexdigest()[:16]

    def _datasets(self) -> Iterator[tuple[str, bool]]:
        """The type of each dataset, and whether it has the name of a file."""
        for op in ancestry.behind(self._roots):
            if "Dataset" in op.type and op.outputs and op.outputs[0].dtype == tf.variant:
                yield op.type, _value_of(op, "filename") not in (None, b"")
        for function in self._functions:
            constants = {n.name: n.attr["value"].tensor for n in function.node_def}
            for node in function.node_def:
                if "Dataset" in node.op:
                    named = [constants.get(name.split(":")[0]) for name in node.input[1:2]]
                    filled = any(item is not None and any(item.string_val) for item in named)
                    yield node.op, filled

    def _reached(self) -> Iterator[Any]:
        """Every function that the pipeline calls, each once."""
        seen: set[str] = set()
        behind = ancestry.behind(self._roots)
        waiting = [_called(op.node_def) for op in behind if op.type != "Const"]
        if not self._roots:
            waiting.append(_called(self.iterator.node_def))
        while waiting:
            for name in waiting.pop():
                if name in seen or name not in self._library:
                    continue
                seen.add(name)
                function = self._library[name]
                yield function
                waiting.extend(_called(node) for node in function.node_def)


def _called(node: tf.NodeDef) -> list[str]:
    found = []
    for key in sorted(node.attr):
        value = node.attr[key]
        found += [value.func.name] if value.HasField("func") else []
        found += [function.name for function in value.list.func]
    return found


def _types(op: tf.Operation) -> str:
    known = [(out.dtype.name, str(out.shape)) for out in op.outputs]
    if "Dataset" not in op.type:
        return repr(known)
    keys = {"output_types", "output_shapes"} & {attr.name for attr in op.op_def.attr}
    return repr((known, [op.get_attr(key) for key in sorted(keys)]))


def _value(op: tf.Operation) -> str | None:
    """A constant's small number; None where it only sets a speed or a place."""
    if op.type != "Const" or op.name.rsplit("/", 1)[-1].startswith(PLACE):
        return None
    users = op.outputs[0].consumers()
    if users and all(_only_tunes(user, op) for user in users):
        return None
    size = op.outputs[0].shape.num_elements()
    return _described(op.get_attr("value")) if size is not None and size <= _SMALL else None


# Begins the name of a constant that says where data starts in this run; such a constant differs
# between runs of one pipeline.
PLACE = "openmox_place"


def _only_tunes(user: tf.Operation, constant: tf.Operation) -> bool:
    names = [name for name, tensor in _arguments(user) if tensor.op is constant]
    return bool(names) and all(
        name in _TUNING or (name == "buffer_size" and not user.type.startswith("Shuffle"))
        for name in names
    )


def _arguments(op: tf.Operation) -> Iterator[tuple[str, tf.Tensor]]:
    """The inputs of an operation with their names; the inputs of a list share the list's name."""
    tensors = iter(op.inputs)
    for argument in op.op_def.input_arg:
        count = 1
        if argument.number_attr:
            count = op.get_attr(argument.number_attr)
        elif argument.type_list_attr:
            count = len(op.get_attr(argument.type_list_attr))
        for _ in range(count):
            yield argument.name, next(tensors)


def _described(tensor: Any) -> str | None:
    if tensor is None:
        return None
    shape = [dimension.size for dimension in tensor.tensor_shape.dim]
    if tensor.dtype == tf.string.as_datatype_enum or math.prod(shape) > _SMALL:
        return repr((tensor.dtype, shape))
    return repr((tensor.dtype, shape, tf.make_ndarray(tensor).tolist()))


def _value_of(op: tf.Operation, argument: str) -> Any:
    for name, tensor in _arguments(op):
        if name == argument:
            value = tf.get_static_value(tensor)
            return value.item() if isinstance(value, np.ndarray) else value
    return None


def _element_bytes(op: tf.Operation) -> int:
    types = [tf.as_dtype(kind) for kind in op.get_attr("output_types")]
    shapes = [tf.TensorShape(shape).as_list() for shape in _ranked(op.get_attr("output_shapes"))]
    return sum(
        kind.size * math.prod(size or 1 for size in shape)
        for kind, shape in zip(types, shapes, strict=True)
        if kind not in (tf.string, tf.variant, tf.resource)
    )


def _ranked(shapes: Iterable[Any]) -> list[tf.TensorShape]:
    known = [tf.TensorShape(shape) for shape in shapes]
    return [shape if shape.rank is not None else tf.TensorShape([]) for shape in known]
