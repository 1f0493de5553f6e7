"""Lets TensorFlow import graphs that versions 0.12 to 1.15 wrote."""

from __future__ import annotations

from typing import Any

from packaging import version
from tensorflow.core.framework import variable_pb2
from tensorflow.python.framework import importer, meta_graph

# The inferred shapes of these operations' further outputs have changed since, so they are inferred
# again.
_INFERRED_OTHERWISE = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_SHAPES = "_output_shapes"
# From 1.9 on each variable's own entry says whether it is trainable.
_BEFORE, _SINCE = "1.0", "1.15"
_TRAINABLE = "trainable_variables"


def install() -> None:
    """From now on `import_graph_def`, `import_meta_graph` and the loaders take old graphs."""
    process = importer._ProcessGraphDefParam
    load = meta_graph.import_scoped_meta_graph_with_return_elements
    if hasattr(process, "mox_before"):
        return

    def _ProcessGraphDefParam(graph_def: Any) -> Any:
        graph_def = process(graph_def)
        _forget_shapes(graph_def)
        return graph_def

    def import_scoped_meta_graph_with_return_elements(
        meta_graph_or_file: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if isinstance(meta_graph_or_file, str | bytes):
            meta_graph_or_file = meta_graph.read_meta_graph_file(meta_graph_or_file)
        _name_version(meta_graph_or_file)
        return load(meta_graph_or_file, *args, **kwargs)

    _ProcessGraphDefParam.mox_before = process  # type: ignore[attr-defined]
    importer._ProcessGraphDefParam = _ProcessGraphDefParam
    meta_graph.import_scoped_meta_graph_with_return_elements = (
        import_scoped_meta_graph_with_return_elements
    )


def _forget_shapes(graph_def: Any) -> None:
    functions = [function.node_def for function in graph_def.library.function]
    for nodes in (graph_def.node, *functions):
        for node in nodes:
            if node.op in _INFERRED_OTHERWISE and _SHAPES in node.attr:
                del node.attr[_SHAPES]


def _name_version(graph: Any) -> None:
    """Replaces a version that is no number, such as `unknown`, by one that means the same."""
    info = getattr(graph, "meta_info_def", None)
    if info is None or not info.tensorflow_version:
        return
    try:
        version.parse(info.tensorflow_version)
    except version.InvalidVersion:
        info.tensorflow_version = _SINCE if _says_trainable(graph) else _BEFORE


def _says_trainable(graph: Any) -> bool:
    if _TRAINABLE not in graph.collection_def:
        return True
    entries = graph.collection_def[_TRAINABLE].bytes_list.value
    return any(variable_pb2.VariableDef.FromString(entry).trainable for entry in entries)
