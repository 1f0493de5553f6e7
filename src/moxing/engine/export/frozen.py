"""Writes the export graph with its variables as constants, in one file that needs no checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import convert_to_constants

from moxing.engine.graph.ancestry import PLACEHOLDERS
from moxing.engine.job.signature import ExportSignature, components

GRAPH = "frozen_graph.pb"
NAMES = "frozen_graph.json"


def write_frozen(session: tf.Session, signature: ExportSignature, directory: str) -> None:
    """Writes `frozen_graph.pb`, a `GraphDef`, and `frozen_graph.json`, its inputs and outputs.

    For each name of the signature, the JSON file gives the tensor's name, dtype and shape, with
    null for an unknown dimension. For a sparse tensor it gives the names of all three components.

    Args:
        session: session that holds the values of the variables.
        signature: inputs and outputs of the model.
        directory: an existing directory.
    """
    outputs = [part for tensor in signature.outputs.values() for part in components(tensor)]
    kept = [part.op.name for part in outputs]
    # Clients feed all inputs of the signature, so a placeholder that no output needs is kept too.
    for tensor in signature.inputs.values():
        kept += [p.op.name for p in components(tensor) if p.op.type in PLACEHOLDERS]
    frozen = convert_to_constants.convert_variables_to_constants_from_session_graph(
        session, session.graph.as_graph_def(add_shapes=True), list(dict.fromkeys(kept))
    )
    _clear_devices(frozen)
    with open(os.path.join(directory, GRAPH), "wb") as file:
        file.write(frozen.SerializeToString(deterministic=True))
    names = {"inputs": _described(signature.inputs), "outputs": _described(signature.outputs)}
    with open(os.path.join(directory, NAMES), "w", encoding="utf-8") as file:
        json.dump(names, file, indent=2, ensure_ascii=False)
        file.write("\n")


def _clear_devices(graph: Any) -> None:
    for node in graph.node:
        node.device = ""
    for function in graph.library.function:
        for node in function.node_def:
            node.device = ""


def _described(tensors: Mapping[str, tf.Tensor | tf.SparseTensor]) -> dict[str, Any]:
    return {name: _one(tensor) for name, tensor in tensors.items()}


def _one(tensor: tf.Tensor | tf.SparseTensor) -> dict[str, Any]:
    about: dict[str, Any] = {
        "dtype": tensor.dtype.base_dtype.name,
        "shape": None if tensor.shape.rank is None else tensor.shape.as_list(),
    }
    if isinstance(tensor, tf.SparseTensor):
        parts = {"indices": tensor.indices, "values": tensor.values, "shape": tensor.dense_shape}
        return {"sparse": {part: t.name for part, t in parts.items()}, **about}
    return {"tensor": tensor.name, **about}
