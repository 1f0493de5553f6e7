"""Finds the variables that an exported model needs, and checks that they are available."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing import errors
from moxing.engine.graph.ancestry import behind
from moxing.engine.job.signature import ExportSignature, components
from moxing.errors import MoxValueError

_LISTED = 5  # Names in a message.
_SAME = (
    "model_fn must make the same variables, under the same names, in EXPORT mode as in TRAIN mode."
)


def checkpoint_names(graph: tf.Graph) -> set[str]:
    """The names under which a `tf.train.Saver` stores variables and saveable objects of `graph`."""
    variables = graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
    return {variable_key(v) for v in variables} | {
        spec.name
        for saveable in graph.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)
        for spec in saveable.specs
    }


def check_variables(signature: ExportSignature, trained: Collection[str], where: str) -> None:
    """Raises if the outputs need variables that are not among the trained variables.

    Args:
        signature: inputs and outputs of the model to export.
        trained: names of the available variables, such as `checkpoint_names(training_graph)`.
        where: where these variables are, such as "the training graph" or "the checkpoint
            model.ckpt-10".

    Raises:
        MoxValueError: variables are missing; the message names them.
    """
    missing = [name for name in _needed(signature) if name not in trained]
    if not missing:
        return
    shown = ", ".join(repr(name) for name in missing[:_LISTED])
    more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
    hint = errors.near_matches(missing[0], trained)
    raise MoxValueError(
        f"The exported model needs variables that {where} does not have: {shown}{more}."
        f" {_SAME}{hint}"
    )


def check_shapes(graph: tf.Graph, stored: Mapping[str, list[int]], where: str) -> None:
    """Raises if a variable's shape in the export graph differs from its stored shape."""
    for variable in graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES):
        key = variable_key(variable)
        part = variable._get_save_slice_info()
        shape = tf.TensorShape(part.full_shape if part else variable.shape)
        if key in stored and not shape.is_compatible_with(stored[key]):
            raise MoxValueError(
                f"Variable {key!r} has the shape {shape} in the export graph and"
                f" {tuple(stored[key])} in {where}. {_SAME}"
            )


def variable_key(variable: Any) -> str:
    """The name under which a `tf.train.Saver` stores a variable; its slices share one name."""
    part = variable._get_save_slice_info()
    return part.full_name if part else variable.op.name


def _needed(signature: ExportSignature) -> list[str]:
    """Names of the variables that the outputs depend on, and of all tables that training fills."""
    outputs = [part for output in signature.outputs.values() for part in components(output)]
    fed = [part for tensor in signature.inputs.values() for part in components(tensor)]
    reached = {op.name for op in behind(outputs, fed)}
    graph = outputs[0].graph
    variables = graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
    names = [variable_key(v) for v in variables if _storage(v).name in reached]
    for saveable in graph.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS):
        names += [spec.name for spec in saveable.specs]
    return list(dict.fromkeys(names))


def _storage(variable: Any) -> tf.Operation:
    """The operation that holds the memory of a resource variable or of a reference variable."""
    handle = getattr(variable, "handle", None)
    return variable.op if handle is None else handle.op
