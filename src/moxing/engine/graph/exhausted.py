"""Says what filled the memory when TensorFlow runs out of it: which tensors, and what to lower."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import tensorflow.compat.v1 as tf

from moxing.engine.graph.fitting import Room, bytes_of, fitting, width
from moxing.engine.wording.option_names import option
from moxing.engine.wording.report import size

_ASKED = re.compile(r"allocating tensor with shape\[([\d,]*)\] and type (\w+)")
# XLA asks for the memory of a whole cluster at once, and then lists the largest tensors in it.
_BY_XLA = re.compile(r"[Oo]ut of memory while trying to allocate (\d+) bytes")
_IN_CLUSTER = re.compile(r'op_name="([^"]+)"')
# A copy to a GPU whose memory is full: TensorFlow raises an InternalError.
_NOT_COPIED = "Dst tensor is not initialized"
_TYPES = {"float": "float32", "double": "float64", "half": "float16"}
_MOST = 3  # Tensors that are named.


def is_exhausted(error: tf.errors.OpError) -> bool:
    """Whether an error says that a device's memory is full."""
    return isinstance(error, tf.errors.ResourceExhaustedError) or (
        isinstance(error, tf.errors.InternalError) and _NOT_COPIED in str(error.message)
    )


def told(
    error: tf.errors.OpError,
    graph: tf.Graph,
    place: Callable[[tf.Operation], str],
    room: Room | None = None,
    own_session: bool = False,
) -> str:
    """Sentences about an error of exhausted memory; an empty text for other errors.

    Args:
        error: the error that a session raised.
        graph: the graph that ran.
        place: words an operation and the user's line that made it.
        room: the memory that there is, and the size of batches; None: not known.
        own_session: whether the program runs the session itself, without flags of openmox.
    """
    if not is_exhausted(error):
        return ""
    found = [f" {sentence}." for sentence in (_asked(error, graph, place), _largest(graph, place))]
    advice = " To need less, lower the batch size." if own_session else _advice(error, graph, room)
    return "".join(text for text in found if text != " .") + advice


def _advice(error: tf.errors.OpError, graph: tf.Graph, room: Room | None) -> str:
    given = None if room is None else room.batch or _first_length(error)
    batch = None if room is None or given is None else fitting(graph, room.limit, given)
    accumulate = option("--accumulate_steps")
    if room is None or given is None or batch is None:
        return (
            f" To need less, lower the batch size, take it in parts ({accumulate}=N), or compute in"
            " 16 bits."
        )
    limit = size(room.limit)
    if not batch:
        return (
            f" By its tensors, not even a batch of one sample fits into the {limit} of the device:"
            " compute in 16 bits, or let back-propagation compute activations again (--recompute)."
        )
    parts = -(-given // batch)
    return (
        f" By its tensors, a batch of about {batch} instead of {given} would have fit into the"
        f" {limit} of the device. {accumulate}={parts} with batches of {-(-given // parts)}"
        " trains as before; computing in 16 bits needs less, too."
    )


def _first_length(error: tf.errors.OpError) -> int | None:
    """The first length of the tensor that was asked for: most often, the size of the batch."""
    found = _ASKED.search(str(error.message))
    lengths = [int(part) for part in found[1].split(",") if part] if found else []
    return lengths[0] if lengths and lengths[0] > 1 else None


def _asked(error: tf.errors.OpError, graph: tf.Graph, place: Callable[[tf.Operation], str]) -> str:
    message = str(error.message)
    cluster = _BY_XLA.search(message)
    if cluster is not None:
        return _asked_by_xla(int(cluster[1]), message, graph, place)
    found = _ASKED.search(message)
    if found is None:
        return "A tensor was to be copied to the device" if _NOT_COPIED in message else ""
    shape = [int(part) for part in found[1].split(",") if part]
    name = _TYPES.get(found[2], found[2])
    try:
        dtype = tf.as_dtype(name)
    except TypeError:
        return f"A {name} tensor of shape {shape} was asked for"
    text = f"{size(math.prod(shape) * width(dtype))} were asked for: {dtype.name} of shape {shape}"
    if error.op is not None or "{{node" in message:
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


def _asked_by_xla(
    count: int, message: str, graph: tf.Graph, place: Callable[[tf.Operation], str]
) -> str:
    """Words what a cluster of operations that XLA compiled asked for, and its largest tensors."""
    named: list[str] = []
    for name in _IN_CLUSTER.findall(message):
        try:
            where = place(graph.get_operation_by_name(name.rpartition(":")[2]))
        except (KeyError, ValueError):  # An operation that TensorFlow's optimizer made.
            continue
        if where not in named and len(named) < _MOST:
            named.append(where)
    text = f"{size(count)} were asked for at once by operations that XLA compiled together"
    return f"{text}, most of it for {', '.join(named)}" if named else text


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
