"""Copies parts of a graph, with replaced inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.graph_editor.select import (
    flat,
    get_backward_walk_ops,
    get_name_scope_ops,
    make_list_of_op,
    select_ops,
    unique,
)

_COLOCATION = "loc:@"


class SubGraphView:
    """A set of operations of a graph, with the tensors that cross its border."""

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops = make_list_of_op(inside_ops)
        inside = set(self._ops)
        reads = unique(tensor for op in self._ops for tensor in op.inputs)
        self._inputs = [tensor for tensor in reads if tensor.op not in inside]
        self._outputs = [
            tensor
            for op in self._ops
            for tensor in op.outputs
            if not tensor.consumers() or any(c not in inside for c in tensor.consumers())
        ]

    @property
    def ops(self) -> list[Any]:
        """The operations."""
        return list(self._ops)

    @property
    def inputs(self) -> list[Any]:
        """The tensors from outside that the operations read."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[Any]:
        """The tensors of the operations that other operations, or none at all, read."""
        return list(self._outputs)

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._ops[0].graph if self._ops else None

    def __len__(self) -> int:
        return len(self._ops)


def make_view(*args: Any, graph: Any = None, **_: Any) -> SubGraphView:
    """Returns a view of operations; see `select_ops` for the arguments."""
    if args and isinstance(args[0], SubGraphView):
        return args[0]
    return SubGraphView(select_ops(*args, graph=graph))


sgv = make_view


def sgv_scope(scope: str, graph: Any) -> SubGraphView:
    """Returns a view of the operations in a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))


def ph(dtype: Any, shape: Any = None, scope: str | None = None, prefix: str = "geph") -> Any:
    """Returns a new placeholder."""
    name = prefix if scope is None else f"{scope.rstrip('/')}/{prefix}"
    return tf.placeholder(dtype, shape, name)


class TransformerInfo:
    """The map between original operations and their copies."""

    def __init__(self, transformed: dict[Any, Any]) -> None:
        self._transformed_ops = transformed
        self._originals = {id(new): old for old, new in transformed.items()}

    def transformed(self, original: Any, missing_fn: Any = None) -> Any:
        """Returns the copy of an operation or a tensor, or a list of copies for a collection."""
        if isinstance(original, tf.Operation):
            found = self._transformed_ops.get(original)
        elif isinstance(original, tf.Tensor):
            op = self._transformed_ops.get(original.op)
            found = None if op is None else op.outputs[original.value_index]
        else:
            return [self.transformed(item, missing_fn) for item in original]
        return missing_fn(original) if found is None and missing_fn is not None else found

    def original(self, transformed: Any, missing_fn: Any = None) -> Any:
        """Returns the original of a copied operation or tensor."""
        op = transformed if isinstance(transformed, tf.Operation) else transformed.op
        found = self._originals.get(id(op))
        if found is None:
            return None if missing_fn is None else missing_fn(transformed)
        same = isinstance(transformed, tf.Operation)
        return found if same else found.outputs[transformed.value_index]


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Mapping[Any, Any],
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copies operations and replaces some of their inputs.

    Args:
        sgv: a view, or operations.
        replacement_ts: a dict from replaced tensors to new tensors.
        dst_graph: the graph of the copy; the same graph by default.
        dst_scope: the name scope of the copy.
        src_scope: not used: names below dst_scope are the operations' names.
        reuse_dst_scope: whether dst_scope may exist already.

    Returns:
        A view of the copy, and the map between originals and copies.
    """
    view = sgv if isinstance(sgv, SubGraphView) else SubGraphView(sgv)
    graph = view.graph
    target = dst_graph or graph
    replaced = {tensor_key(old): new for old, new in replacement_ts.items()}
    with target.as_default():
        copier = _Copier(view, target is graph, replaced)
        info = copier.run(dst_scope or "copied")
    return SubGraphView(list(info._transformed_ops.values())), info


def copy(
    sgv: Any,
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copies operations; they keep their outside inputs, or get placeholders in another graph."""
    return copy_with_input_replacements(sgv, {}, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[Any, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Returns tensors recomputed with replaced tensors, by copying the operations in between.

    Args:
        target_ts: a tensor, or a collection of tensors.
        replacement_ts: a dict from replaced tensors to new tensors.
        dst_scope: the name scope of the copies.
        src_scope: not used: names below dst_scope are the operations' names.
        reuse_dst_scope: whether dst_scope may exist already.

    Returns:
        Tensors in the structure of target_ts.

    Raises:
        MoxValueError: no target depends on a replaced tensor.
    """
    replaced = {tensor_key(old): new for old, new in replacement_ts.items()}
    targets = [target if isinstance(target, tf.Tensor) else target for target in flat(target_ts)]
    stops = [tensor for tensor in targets if tensor_key(tensor) in replaced]
    ops = get_backward_walk_ops([t for t in targets if t not in stops], control_inputs=True)
    depends = _depending(ops, replaced)
    if not depends and not stops:
        raise MoxValueError("Targets and replacements are not connected!")
    info = None
    if depends:
        _, info = copy_with_input_replacements(
            depends, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope
        )

    def new(tensor: Any) -> Any:
        if tensor_key(tensor) in replaced:
            return replaced[tensor_key(tensor)]
        found = None if info is None else info.transformed(tensor)
        return tensor if found is None else found

    if isinstance(target_ts, tf.Tensor):
        return new(target_ts)
    return tf.nest.map_structure(new, target_ts)


def tensor_key(tensor: Any) -> str:
    """Returns the name of a tensor, or of a value convertible to one, in its graph."""
    return tf.convert_to_tensor(tensor).name if not hasattr(tensor, "name") else tensor.name


def _depending(ops: list[Any], replaced: Mapping[str, Any]) -> list[Any]:
    """Returns the operations that depend on a replaced tensor."""
    order = sorted(ops, key=lambda op: op._id)
    found: set[Any] = set()
    grown = True
    while grown:
        before = len(found)
        for op in order:
            if any(t.name in replaced or t.op in found for t in op.inputs):
                found.add(op)
        # Loops have back edges, so repeat until no operation is added.
        grown = len(found) > before
    return [op for op in order if op in found]


class _Copier:
    """Makes one copy through a GraphDef, which preserves loops, functions and attributes."""

    def __init__(self, view: SubGraphView, same: bool, replaced: Mapping[str, Any]) -> None:
        self._view, self._same, self._replaced = view, same, replaced
        self._names = {op.name for op in view.ops}

    def run(self, scope: str) -> TransformerInfo:
        definition = tf.GraphDef()
        for op in self._view.ops:
            definition.node.add().CopyFrom(self._node(op))
        if not self._same:
            source = self._view.graph.as_graph_def()
            definition.versions.CopyFrom(source.versions)
            definition.library.CopyFrom(source.library)
        graph = tf.get_default_graph()
        inside = scope.rstrip("/")
        unique_name = graph.unique_name(inside, mark_as_used=False)
        tf.import_graph_def(definition, input_map=self._inputs, name=inside)
        transformed = {
            op: graph.get_operation_by_name(f"{unique_name}/{op.name}") for op in self._view.ops
        }
        if self._same:
            for op, new in transformed.items():
                outside = [c for c in op.control_inputs if c.name not in self._names]
                if outside:
                    new._add_control_inputs(outside)
        return TransformerInfo(transformed)

    def _node(self, op: Any) -> Any:
        """Returns the operation's NodeDef, with outside inputs renamed for the input map."""
        node = tf.NodeDef()
        node.CopyFrom(op.node_def)
        del node.input[:]
        for tensor in op.inputs:
            node.input.append(self._input(tensor))
        node.input.extend(f"^{c.name}" for c in op.control_inputs if c.name in self._names)
        places = node.attr["_class"].list.s if "_class" in node.attr else ()
        kept = [
            place for place in places if place.decode().removeprefix(_COLOCATION) in self._names
        ]
        if len(kept) < len(places):
            del node.attr["_class"]
            if kept:
                node.attr["_class"].list.s.extend(kept)
        return node

    @property
    def _inputs(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for op in self._view.ops:
            for tensor in op.inputs:
                key = self._input(tensor)
                if tensor.name in self._replaced:
                    found[key] = self._replaced[tensor.name]
                elif tensor.op.name not in self._names:
                    found[key] = tensor if self._same else self._stand_in(tensor, found, key)
        return found

    def _stand_in(self, tensor: Any, found: Mapping[str, Any], key: str) -> Any:
        return found[key] if key in found else ph(tensor.dtype.base_dtype, tensor.shape)

    def _input(self, tensor: Any) -> str:
        outside = tensor.name in self._replaced or tensor.op.name not in self._names
        if not outside:
            return tensor.name
        # This name is never a node of the copy, even if the replaced tensor's operation is.
        return f"outside/{tensor.op.name}:{tensor.value_index}"
