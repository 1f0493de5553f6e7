"""Refuses, before training starts, an export that could not be served."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import structure
from moxing.engine.graph.ancestry import PLACEHOLDERS, behind
from moxing.engine.graph.blame import place
from moxing.engine.job.signature import ExportSignature, components
from moxing.errors import MoxTypeError, MoxValueError
from moxing.logs import TENSORFLOW

_PIPELINE = ("Iterator", "OneShotIterator", "QueueDequeue", "ReaderRead", "Unstage")
_PYTHON_CALLS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")


def check(signature: ExportSignature, fed: Any) -> None:
    """Raises if the outputs can't be computed from the inputs of the signature alone.

    Args:
        signature: inputs and outputs of the model to export.
        fed: the inputs of the model function in EXPORT mode, as `placeholders` made them.

    Raises:
        MoxTypeError: a name that is not a string, or a value that is not a tensor.
        MoxValueError: no inputs or no outputs; a tensor of another graph; an input that can't be
            fed; an output that depends on an unnamed input, an iterator or a queue; an asset file
            that does not exist.
    """
    leaves = structure.leaves(fed)
    parts = [(path, part) for path, leaf in leaves for part in components(leaf)]
    graph = parts[0][1].graph if parts else tf.get_default_graph()
    _check_tensors("inputs_dict", signature.inputs, graph)
    _check_tensors("outputs_dict", signature.outputs, graph)
    _check_feedable(signature.inputs, graph)
    paths = {part.op.name: path for path, part in parts}
    stop = [part for tensor in signature.inputs.values() for part in components(tensor)]
    for name, output in signature.outputs.items():
        for op in behind(components(output), stop):
            _check_source(name, op, paths)
    check_assets(graph)


def check_assets(graph: tf.Graph) -> None:
    """Raises if a file that the export must copy, such as a vocabulary, does not exist."""
    for tensor in graph.get_collection(tf.GraphKeys.ASSET_FILEPATHS):
        path = tf.get_static_value(tensor)
        if path is not None and not tf.gfile.Exists(path.item()):
            raise MoxValueError(
                f"The exported model needs the file {os.fsdecode(path.item())!r}, which does not"
                " exist. It is copied beside the model when the model is exported."
            )


def _check_tensors(role: str, tensors: Mapping[str, Any], graph: tf.Graph) -> None:
    if not tensors:
        raise MoxValueError(f"The export's {role} is empty. Name at least one tensor.")
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not name:
            raise MoxTypeError(
                f"The export's {role} has the key {name!r}. A key is the name that clients use:"
                " a string."
            )
        if isinstance(tensor, tf.Variable) or not isinstance(tensor, tf.Tensor | tf.SparseTensor):
            raise MoxTypeError(
                f"The export's {role}[{name!r}] is a {type(tensor).__name__}, and only a tf.Tensor"
                " or tf.SparseTensor can be exported. tf.identity(...) makes a tensor of a"
                " variable."
            )
        if components(tensor)[0].graph is not graph:
            raise MoxValueError(
                f"The export's {role}[{name!r}] is a tensor of another graph. Each call of model_fn"
                " must build its own tensors: don't keep them from an earlier call."
            )


def _check_feedable(inputs: Mapping[str, Any], graph: tf.Graph) -> None:
    names: dict[str, str] = {}
    for name, tensor in inputs.items():
        for part in components(tensor):
            if not graph.is_feedable(part):
                raise MoxValueError(
                    f"The export's inputs_dict[{name!r}] can't be fed. Use an input of model_fn."
                )
            if names.setdefault(part.name, name) != name:
                raise MoxValueError(
                    f"The export's inputs_dict has one tensor under two names,"
                    f" {names[part.name]!r} and {name!r}. Keep one of them."
                )


def _check_source(output: str, op: tf.Operation, paths: Mapping[str, str]) -> None:
    if op.type in PLACEHOLDERS:
        what = f"{paths[op.name]} of model_fn" if op.name in paths else f"placeholder {place(op)}"
        raise MoxValueError(
            f"The exported output {output!r} depends on {what}, which is not in inputs_dict. Add it"
            " to inputs_dict, or make the output without it in EXPORT mode."
        )
    if op.type.startswith(_PIPELINE):
        raise MoxValueError(
            f"The exported output {output!r} depends on the input pipeline {place(op)}, which is"
            " not exported. Make the output of the inputs that model_fn is given."
        )
    if op.type in _PYTHON_CALLS:
        TENSORFLOW.warning(
            "The exported output %r depends on the Python function called by %s. It is not part of"
            " the exported model, so no other process can compute this output.",
            output,
            place(op),
        )
