"""Reduces, gathers and broadcasts tensors over processes, in eager mode and in graphs."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.horovod import world
from moxing.horovod.compression import Compression

Average, Sum, Adasum, Min, Max, Product = "Average", "Sum", "Adasum", "Min", "Max", "Product"
_MERGE = {Average: "Add", Sum: "Add", Min: "Min", Max: "Max", Product: "Mul"}


def allreduce(
    tensor: Any,
    average: bool | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    op: str | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    name: str | None = None,
    **others: Any,
) -> Any:
    """Reduces a tensor over processes, by default to its mean.

    Args:
        tensor: a tensor, variable, array or number with the same shape in all processes; or a
            tf.IndexedSlices, for which the slices of all processes are concatenated.
        average: an argument of older Horovod versions; False: the sum, unless `op` is given.
        device_dense, device_sparse: not used.
        compression: a member of `Compression`.
        op: Average, Sum, Min, Max or Product; None: Average. Slices allow Average and Sum only.
        prescale_factor, postscale_factor: factors of the tensor before and of the result after the
            reduction.
        name: the same in all processes; distinguishes concurrent reductions.
        **others: not used.

    Raises:
        MoxNotSupportedError: `op` is Adasum.
        MoxValueError: `op` is unknown.
    """
    del device_dense, device_sparse, others
    op = _op(average, op)
    name = name or name_of("allreduce", [tensor])
    return reduced([tensor], op, compression, name, prescale_factor, postscale_factor)[0]


def grouped_allreduce(
    tensors: Sequence[Any],
    average: bool | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    op: str | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    name: str | None = None,
    **others: Any,
) -> list[Any]:
    """Reduces several tensors at once; see `allreduce`."""
    del device_dense, device_sparse, others
    op = _op(average, op)
    name = name or name_of("group", tensors)
    return reduced(list(tensors), op, compression, name, prescale_factor, postscale_factor)


def reduced(
    tensors: Sequence[Any],
    op: str,
    compression: Any,
    name: str,
    before: float = 1.0,
    after: float = 1.0,
) -> list[Any]:
    """Returns the tensors, each reduced over processes, with one exchange per dtype."""
    if world.exchange() is None and before == after == 1.0:
        return list(tensors)
    dense = [
        n for n, t in enumerate(tensors) if t is not None and not isinstance(t, tf.IndexedSlices)
    ]
    results = list(tensors)
    for n, tensor in enumerate(tensors):
        if isinstance(tensor, tf.IndexedSlices):
            results[n] = _slices(tensor, op, f"{name}/{n}", before * after)
    packed = [compression.compress(tf.convert_to_tensor(tensors[n])) for n in dense]
    given = [tensor if before == 1.0 else tensor * before for tensor, _ in packed]

    def merge(*arrays: Any) -> list[np.ndarray]:
        return _merged([np.asarray(array) for array in arrays], op, name)

    for n, tensor, (_, context) in zip(dense, _called(merge, given, given), packed, strict=True):
        result = compression.decompress(tensor, context)
        results[n] = result if after == 1.0 else result * after
    return results


def allgather(tensor: Any, name: str | None = None, **others: Any) -> Any:
    """Concatenates all processes' tensors, which may differ in their first dimension."""
    del others
    tensor = tf.convert_to_tensor(tensor)
    if tensor.shape.rank == 0:
        tensor = tf.reshape(tensor, [1])
    if world.exchange() is None:
        return tf.identity(tensor)
    own = name or name_of("allgather", [tensor])

    def gather(array: Any) -> list[np.ndarray]:
        return [_gathered(np.asarray(array), own)]

    result = _called(gather, [tensor], [tensor])[0]
    if not tf.executing_eagerly() and tensor.shape.rank is not None:
        result.set_shape([None, *tensor.shape[1:]])
    return result


def broadcast(tensor: Any, root_rank: int, name: str | None = None, **others: Any) -> Any:
    """Returns the tensor of process `root_rank` in all processes."""
    del others
    return broadcast_all([tensor], root_rank, name or name_of("broadcast", [tensor]))[0]


def broadcast_all(tensors: Sequence[Any], root_rank: int, name: str) -> list[Any]:
    """Returns the tensors of process `root_rank` in all processes, with one exchange per dtype.

    Raises:
        MoxValueError: there is no process `root_rank`.
    """
    if not 0 <= root_rank < world.size():
        raise MoxValueError(
            f"broadcast: root_rank={root_rank}, and there are {world.size()} ranks."
        )
    given = [tf.convert_to_tensor(tensor) for tensor in tensors]
    if world.exchange() is None:
        return given

    def send(*arrays: Any) -> list[np.ndarray]:
        mine = world.rank() == root_rank
        sent = [np.asarray(a) if mine else np.zeros_like(np.asarray(a)) for a in arrays]
        return _merged(sent, Sum, name)

    return _called(send, given, given)


def broadcast_object(
    obj: Any = None, root_rank: int = 0, session: Any = None, **others: Any
) -> Any:
    """Returns the Python object of process `root_rank` in all processes."""
    del session, others
    return allgather_object(obj)[root_rank]


def allgather_object(obj: Any, session: Any = None, **others: Any) -> list[Any]:
    """Returns the Python objects of all processes, in the order of ranks."""
    del session, others
    if world.exchange() is None:
        return [obj]
    data = np.frombuffer(pickle.dumps(obj), np.uint8)
    sizes = _gathered(np.asarray([data.size], np.int64), "objects' sizes")
    stream = io.BytesIO(_gathered(data, "objects").tobytes())
    return [pickle.loads(stream.read(int(size))) for size in sizes]


def barrier(**others: Any) -> None:
    """Waits until every process has called this function."""
    del others
    _gathered(np.zeros([1], np.int32), "barrier") if world.exchange() is not None else None


def join(**others: Any) -> int:
    """Always raises an error: all processes must run the same number of steps.

    Raises:
        MoxNotSupportedError: always.
    """
    del others
    raise MoxNotSupportedError(
        "hvd.join, for processes with less data than others, is not here: give all processes as"
        " many steps, as with dataset.repeat() and a number of steps."
    )


def op_of(average: bool | None, op: str | None) -> str:
    """Returns the reduction that Horovod's arguments `average` and `op` select."""
    return _op(average, op)


def _op(average: bool | None, op: str | None) -> str:
    if op is None:
        return Sum if average is False else Average
    if op == Adasum:
        raise MoxNotSupportedError("op=hvd.Adasum is not here. Use hvd.Average.")
    if op not in _MERGE:
        raise MoxValueError(f"op={op!r} is none of {', '.join(_MERGE)}.")
    return op


def name_of(kind: str, tensors: Sequence[Any]) -> str:
    """Returns a name for an exchange without one, from the name of its first tensor in a graph.

    Exchanges of a graph run in any order, so each needs a name of its own, which is the same in all
    processes. Eager exchanges run in the order of the program, and need none.
    """
    if tf.executing_eagerly():
        return kind
    first = next((tensor for tensor in tensors if tensor is not None), None)
    first = first.values if isinstance(first, tf.IndexedSlices) else first
    label = str(getattr(first, "name", "value")).replace(":", "_")
    return tf.compat.v1.get_default_graph().unique_name(f"horovod/{kind}/{label}")


def _merged(arrays: list[np.ndarray], op: str, name: str) -> list[np.ndarray]:
    """Reduces the arrays over processes; arrays of one dtype are exchanged as one array."""
    exchange = world.exchange()
    if exchange is None:
        return arrays
    results: list[Any] = [None] * len(arrays)
    for kind in dict.fromkeys(array.dtype for array in arrays):
        numbers = [n for n, array in enumerate(arrays) if array.dtype == kind]
        flat = np.concatenate([arrays[n].reshape(-1) for n in numbers])
        total = exchange.reduce(name, flat, _MERGE[op])
        if op == Average:
            size = exchange.cluster.size
            total = total // size if kind.kind in "iu" else (total / kind.type(size)).astype(kind)
        start = 0
        for n in numbers:
            results[n] = total[start : start + arrays[n].size].reshape(arrays[n].shape)
            start += arrays[n].size
    return results


def _gathered(array: np.ndarray, name: str) -> np.ndarray:
    exchange = world.exchange()
    assert exchange is not None
    size, rank = exchange.cluster.size, exchange.cluster.index
    rows = np.zeros([size], np.int64)
    rows[rank] = len(array)
    rows = exchange.reduce(f"{name}/rows", rows)
    # Powers of two give few different sizes, so that few collectives are made.
    most = 1 << int(max(int(rows.max()), 1) - 1).bit_length()
    held = np.zeros([size, most, *array.shape[1:]], array.dtype)
    held[rank, : len(array)] = array
    held = exchange.reduce(name, held)
    return np.concatenate([held[n, : rows[n]] for n in range(size)])


def _slices(slices: Any, op: str, name: str, factor: float) -> Any:
    if op not in (Average, Sum):
        raise MoxNotSupportedError(f"op={op} of a tf.IndexedSlices is not there; use Average.")
    values, indices = (
        allgather(slices.values, f"{name}/values"),
        allgather(slices.indices, f"{name}/indices"),
    )
    if op == Average:
        values = values / tf.cast(world.size(), values.dtype)
    if factor != 1.0:
        values = values * factor
    return tf.IndexedSlices(values, indices, slices.dense_shape)


def _called(
    function: Callable[..., list[np.ndarray]], given: Sequence[Any], like: Sequence[Any]
) -> list[Any]:
    """Applies a function of arrays to tensors, immediately or as an operation in the graph."""
    if not given:
        return []
    if tf.executing_eagerly():
        made = function(*(tensor.numpy() for tensor in given))
        return [tf.convert_to_tensor(v, t.dtype) for v, t in zip(made, like, strict=True)]
    types = [tensor.dtype for tensor in like]

    def typed(*arrays: Any) -> list[np.ndarray]:
        kinds = [kind.as_numpy_dtype for kind in types]
        return [np.asarray(v, k) for v, k in zip(function(*arrays), kinds, strict=True)]

    with tf.device("/cpu:0"):
        results = tf.numpy_function(typed, list(given), types)
    results = list(results) if isinstance(results, list | tuple) else [results]
    for result, tensor in zip(results, like, strict=True):
        result.set_shape(tensor.shape)
    return results
