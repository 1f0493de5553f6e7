"""`tensorflow.tools.graph_transforms`: the transforms of an inference graph that are available."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.tools import optimize_for_inference_lib, strip_unused_lib

from moxing.errors import MoxValueError

_TRANSFORM = re.compile(r"(\w+)\s*(?:\(([^)]*)\))?")


def TransformGraph(  # noqa: N802, the name that programs know
    input_graph_def: Any,
    inputs: Sequence[str],
    outputs: Sequence[str],
    transforms: Sequence[str],
) -> Any:
    """A changed copy of a GraphDef.

    Args:
        input_graph_def: a frozen graph.
        inputs: names of nodes that are fed.
        outputs: names of nodes that are read.
        transforms: such as `"strip_unused_nodes"` or `"remove_nodes(op=Identity)"`.

    Raises:
        MoxValueError: a transform that is not here.
    """
    graph = tf.GraphDef()
    graph.CopyFrom(input_graph_def)
    fed, read = ([_node(name) for name in names] for names in (inputs, outputs))
    for transform in transforms:
        found = _TRANSFORM.fullmatch(transform.strip())
        name = found[1] if found else transform
        if name not in _TRANSFORMS:
            raise MoxValueError(
                f"the graph transform {name!r} ended with TensorFlow 1.x. The available transforms"
                f" are {', '.join(sorted(_TRANSFORMS))}; for quantized weights convert the"
                " SavedModel with tf.lite."
            )
        graph = _TRANSFORMS[name](graph, fed, read, found[2] or "" if found else "")
    return graph


def _node(name: str) -> str:
    return name.removeprefix("^").partition(":")[0]


def _strip(graph: Any, fed: list[str], read: list[str], options: str) -> Any:
    types = {node.name: node.attr["dtype"].type or 1 for node in graph.node}
    stripped = [name for name in fed if name in types]
    return strip_unused_lib.strip_unused(graph, stripped, read, [types[name] for name in stripped])


def _remove(graph: Any, fed: list[str], read: list[str], options: str) -> Any:
    """Takes out nodes of the named kinds that have one input."""
    kinds = set(re.findall(r"op=(\w+)", options))
    kept = {*fed, *read}
    instead = {
        node.name: node.input[0]
        for node in graph.node
        if node.op in kinds and node.name not in kept and len(node.input) == 1
    }

    def followed(name: str) -> str:
        while _node(name) in instead and not name.startswith("^"):
            name = instead[_node(name)]
        return name

    result = tf.GraphDef()
    result.CopyFrom(graph)
    del result.node[:]
    for node in graph.node:
        if node.name in instead:
            continue
        new = result.node.add()
        new.CopyFrom(node)
        del new.input[:]
        new.input.extend(
            f"^{_node(followed(_node(name)))}" if name.startswith("^") else followed(name)
            for name in node.input
        )
    return result


def _fold_constants(graph: Any, fed: list[str], read: list[str], options: str) -> Any:
    """Replaces nodes that depend only on constants by their values."""
    stateful = {node.name for node in graph.node if _is_stateful(node.op)}
    fixed: set[str] = set()
    for node in _sorted(graph):
        inputs = [_node(name) for name in node.input]
        plain = node.name not in stateful and node.op != "Placeholder" and node.name not in fed
        if plain and (node.op == "Const" or inputs) and all(name in fixed for name in inputs):
            fixed.add(node.name)
    wanted = _border(graph, fixed, read)
    values = {}
    if wanted:
        with tf.Graph().as_default() as inside, tf.Session() as session:
            tf.import_graph_def(graph, name="")
            for name in wanted:
                if len(inside.get_operation_by_name(name).outputs) == 1:
                    values[name] = session.run(f"{name}:0")
    result = tf.GraphDef()
    result.CopyFrom(graph)
    del result.node[:]
    for node in graph.node:
        new = result.node.add()
        if node.name not in values:
            new.CopyFrom(node)
            continue
        new.op, new.name = "Const", node.name
        proto = tf.make_tensor_proto(values[node.name])
        new.attr["value"].tensor.CopyFrom(proto)
        new.attr["dtype"].type = proto.dtype
    return tf.graph_util.extract_sub_graph(result, read)


def _is_stateful(kind: str) -> bool:
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(kind)
    return definition is None or definition.is_stateful


def _border(graph: Any, fixed: set[str], read: list[str]) -> list[str]:
    """The fixed nodes, without constants, that other nodes or the user read."""
    kinds = {node.name: node.op for node in graph.node}
    found = dict.fromkeys(name for name in read if name in fixed)
    for node in graph.node:
        if node.name not in fixed:
            found.update(dict.fromkeys(n for n in map(_node, node.input) if n in fixed))
    return [name for name in found if kinds[name] != "Const"]


def _sorted(graph: Any) -> list[Any]:
    """Returns the nodes, each after the nodes that it reads."""
    nodes = {node.name: node for node in graph.node}
    order: dict[str, Any] = {}
    for start in graph.node:
        stack = [(start.name, False)]
        seen: set[str] = set()
        while stack:
            name, ready = stack.pop()
            if ready:
                order.setdefault(name, nodes[name])
            elif name in nodes and name not in order and name not in seen:
                seen.add(name)
                stack.append((name, True))
                stack.extend((_node(read), False) for read in nodes[name].input)
    return list(order.values())


def _sort(graph: Any, fed: list[str], read: list[str], options: str) -> Any:
    result = tf.GraphDef()
    result.CopyFrom(graph)
    del result.node[:]
    result.node.extend(_sorted(graph))
    return result


def _fold_batch_norms(graph: Any, fed: list[str], read: list[str], options: str) -> Any:
    return optimize_for_inference_lib.fold_batch_norms(graph)


_TRANSFORMS: dict[str, Callable[..., Any]] = {
    "fold_batch_norms": _fold_batch_norms,
    "fold_constants": _fold_constants,
    "fold_old_batch_norms": _fold_batch_norms,
    "remove_nodes": _remove,
    "sort_by_execution_order": _sort,
    "strip_unused_nodes": _strip,
}
