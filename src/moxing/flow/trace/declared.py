"""The sizes that a job's code sees where an input may come with fewer elements than declared.

TensorFlow infers them in a second graph: it holds copies of the operations between the value and
the inputs, and there the inputs have the sizes that the job declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.core.framework.graph_pb2 import GraphDef

_MOST_SIZES = 32  # A tensor of more elements is no shape.


class Declared:
    """The declared sizes of the tensors of one job."""

    def __init__(self) -> None:
        # Few jobs have such tensors.
        self._graph: tf.Graph | None = None
        self._made: dict[str, tf.Tensor] = {}  # The stand-ins of tensors, by their names.

    def add(self, tensor: tf.Tensor, sizes: Sequence[int]) -> None:
        """Says which sizes the job's code sees of a tensor."""
        if not tensor.shape.is_fully_defined():
            self._stand_in(tensor, sizes)

    def of(self, tensor: tf.Tensor) -> tuple[Any, ...]:
        """The sizes that the job's code sees of a tensor; None is a size that nothing declares."""
        shape = tensor.shape
        if self._made and not shape.is_fully_defined():
            if tensor.name not in self._made:
                self._copy(tensor)
            shape = shape.merge_with(self._made[tensor.name].shape)
        return tuple(shape.as_list())

    def _copy(self, tensor: tf.Tensor) -> None:
        """Makes the stand-in of a tensor, from those of the tensors that it is computed from."""
        new, mapped, waiting = GraphDef(), {}, [tensor.op]
        found = {tensor.op.name: tensor.op}
        while waiting:
            operation = waiting.pop()
            node = new.node.add()
            node.CopyFrom(operation.node_def)
            node.device = ""
            node.attr.pop("_class", None)
            # The order of operations says nothing about sizes.
            node.input[:] = [name for name in node.input if not name.startswith("^")]
            for source in operation.inputs:
                if source.name not in self._made and self._says_no_sizes(source):
                    self._stand_in(source, source.shape)
                if source.name in self._made:
                    mapped[source.name] = self._made[source.name]
                elif source.op.name not in found:
                    found[source.op.name] = source.op
                    waiting.append(source.op)
        try:
            with self._inside():
                copies = tf.import_graph_def(new, mapped, list(found), name="copy")
        except (ValueError, tf.errors.OpError):
            # The declared sizes don't fit an operation, or it calls a function of the job's graph.
            self._stand_in(tensor, tensor.shape)
            return
        for operation, copy in zip(found.values(), copies, strict=True):
            for original, made in zip(operation.outputs, copy.outputs, strict=True):
                self._made.setdefault(original.name, made)

    def _says_no_sizes(self, tensor: tf.Tensor) -> bool:
        """Whether nothing before a tensor changes the sizes of values that are computed from it."""
        if not tensor.shape.is_fully_defined():
            return tensor.op.type == "Placeholder"
        whole = tensor.dtype.base_dtype in (tf.int32, tf.int64)
        return not whole or (tensor.shape.num_elements() or 0) > _MOST_SIZES

    def _stand_in(self, tensor: tf.Tensor, sizes: Any) -> None:
        with self._inside():
            self._made[tensor.name] = tf.placeholder(tensor.dtype.base_dtype, sizes)

    def _inside(self) -> AbstractContextManager[Any]:
        graph = self._graph = self._graph or tf.Graph()
        return graph.as_default()
