"""Says what filled the memory when TensorFlow runs out of it: which tensors, and what to lower."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import tensorflow.compat.v1 as tf

from moxing.engine.wording.option_names import option
from moxing.engine.wording.report import size

_ASKED = re.compile(r"allocating tensor with shape\[([\d,]*)\] and type (\w+)")
_TYPES = {"float": "float32", "double": "float64", "half": "float16"}
_MOST = 3  # Tensors that are named.


def told(error: tf.errors.OpError, graph: tf.Graph, place: Callable[[tf.Operation], str]) -> str:
    """Sentences about an error of exhausted memory; an empty text for other errors.

    Args:
        error: the error that a session raised.
        graph: the graph that ran.
        place: words an operation and the user's line that made it.
    """
    if not isinstance(error, tf.errors.ResourceExhaustedError):
        return ""
    found = [f" {sentence}." for sentence in (_asked(error, graph, place), _largest(graph, place))]
    return "".join(text for text in found if text != " .") + (
        " To need less, lower the batch size, take it in parts"
        f" ({option('--accumulate_steps')}=N), or compute in 16 bits."
    )


def bytes_of(tensor: tf.Tensor) -> int:
    """The size of a tensor; 0 where its shape or type does not say it."""
    count = tensor.shape.num_elements()
    return (count or 0) * _width(tensor.dtype.base_dtype)


def _width(dtype: tf.DType) -> int:
    return dtype.size if dtype not in (tf.string, tf.resource, tf.variant) else 0


def _asked(error: tf.errors.OpError, graph: tf.Graph, place: Callable[[tf.Operation], str]) -> str:
    found = _ASKED.search(str(error.message))
    if found is None:
        return ""
    shape = [int(part) for part in found[1].split(",") if part]
    name = _TYPES.get(found[2], found[2])
    try:
        dtype = tf.as_dtype(name)
    except TypeError:
        return f"A {name} tensor of shape {shape} was asked for"
    text = f"{size(math.prod(shape) * _width(dtype))} were asked for: {dtype.name} of shape {shape}"
    if error.op is not None or "{{node" in str(error.message):
        return text  # The operation is named already.
    makers = [
        tensor.op
        for op in graph.get_operations()
        for tensor in op.outputs
        if tensor.dtype == dtype
        and tensor.shape.rank == len(shape)
        and tensor.shape.is_compatible_with(shape)
        and any(known is not None for known in tensor.shape.as_list())
        and op.type not in ("Placeholder", "Const")
    ]
    named = list(dict.fromkeys(place(op) for op in makers))[:_MOST]
    return f"{text}, as {' or '.join(named)} makes" if named else text


def _largest(graph: tf.Graph, place: Callable[[tf.Operation], str]) -> str:
    """The largest tensors of a graph of which the size is known before it runs."""
    tensors = [tensor for op in graph.get_operations() for tensor in op.outputs]
    by_size = sorted(tensors, key=bytes_of, reverse=True)
    named: dict[str, str] = {}
    for tensor in by_size[: 20 * _MOST]:
        where = place(tensor.op)
        line = where[where.rfind("(") :] if where.endswith(")") else where
        if bytes_of(tensor) and line not in named and len(named) < _MOST:
            named[line] = f"{where} {size(bytes_of(tensor))}"
    return f"The largest tensors of known size are {', '.join(named.values())}" if named else ""
