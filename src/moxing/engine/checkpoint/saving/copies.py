"""Copies the values of a checkpoint to host memory, and writes them while the training goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.framework.free_memory import free_memory
from moxing.logs import TENSORFLOW

LEAST = 32 << 20  # Bytes; a smaller checkpoint is written sooner than a second graph is made.
_FETCHES = 8  # Session calls that copy all values.
_AT_ONCE = 4  # Operations of a call that copy at the same time.
_ALIGNED = 64  # TensorFlow does not copy an array whose address is a multiple of this.


class Copies:
    """Copies of all values that a `tf.train.Saver` writes; the next save uses their memory again.

    Args:
        saver: the saver; its graph is the default graph.
    """

    def __init__(self, saver: tf.train.Saver) -> None:
        self._tensors: list[tf.Tensor] = []
        self._labels: tuple[tf.Tensor, ...] = ()
        self._calls: list[list[tf.Operation]] = []
        self._memory: list[np.ndarray | None] = []
        self._names: list[str] = []
        self._graph: _Graph | None = None
        self._told = False
        saved = tf.get_default_graph().get_tensor_by_name(saver.saver_def.save_tensor_name).op
        writes = [op for op in saved.control_inputs if op.type == "SaveV2"]
        if len(writes) == 1:
            _, *inputs = writes[0].inputs
            self._labels, self._tensors = tuple(inputs[:2]), inputs[2:]
        self._sizes = [_size(tensor) for tensor in self._tensors]
        self._fetches = _parts(range(len(self._sizes)), self._sizes, _FETCHES)
        # States of iterators are variants, which only the saver's own operation writes.
        arrays = not any(tensor.dtype in (tf.variant, tf.resource) for tensor in self._tensors)
        if arrays and sum(self._sizes) >= LEAST:
            with tf.device(writes[0].device), tf.name_scope("openmox/copy"):
                self._calls = [self._call(fetch) for fetch in self._fetches]

    def _call(self, fetch: Sequence[int]) -> list[tf.Operation]:
        """Makes the operations that copy the values of one session call."""
        return [self._copy(part) for part in _parts(fetch, self._sizes, _AT_ONCE)]

    def _copy(self, part: Sequence[int]) -> tf.Operation:
        """Makes an operation that copies some values.

        A session that returns a value copies it first, while it holds the interpreter's lock; an
        operation of Python code gets the memory of the variable itself.
        """

        def copy(*values: Any) -> None:
            for index, value in zip(part, values, strict=True):
                before = self._memory[index]
                self._memory[index] = _copied(value, self._tensors[index].dtype, before)

        return tf.py_func(copy, [self._tensors[index] for index in part], [])

    @property
    def wanted(self) -> bool:
        """Whether all values can be copied, and are so large that copying is worthwhile."""
        return bool(self._calls) and (bool(self._memory) or self._fits(sum(self._sizes)))

    def _fits(self, size: int) -> bool:
        """Whether memory is free for the copies and, during `take`, for the values of a fetch."""
        free = free_memory()
        fetched = max(sum(self._sizes[index] for index in fetch) for fetch in self._fetches)
        if free is None or free >= size + fetched:
            return True
        if not self._told:
            self._told = True
            TENSORFLOW.info(
                "This checkpoint is written before the next step: %d MB of memory are free, and"
                " writing it beside the next steps needs a copy of %d MB.",
                free >> 20,
                size >> 20,
            )
        return False

    def take(self, session: tf.Session) -> None:
        """Copies the present values over the copies of the save before."""
        if self._graph is None:
            names, slices = session.run(self._labels)
            self._graph = _Graph(self._tensors, names, slices)
            self._names = [name.decode() for name in names]
            self._memory = [None] * len(self._tensors)
        # Values from a GPU or another process are released before the next call, which gets the
        # same memory again: memory that a process has not used before costs ten times the time of
        # copying to it.
        for copies in self._calls:
            session.run(copies)

    def arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yields the copies with their names in the files; slices of a variable share its name."""
        for name, array in zip(self._names, self._memory, strict=True):
            assert array is not None
            yield name, array

    def write(self, prefix: str) -> None:
        """Writes the copies as `tf.train.Saver` writes the values; no session of the run is used.

        Args:
            prefix: prefix of the files.
        """
        assert self._graph is not None
        self._graph.write(prefix, self._memory)


class _Graph:
    """A graph that writes arrays.

    Args:
        tensors: tensors that have the types of the arrays, in the order of the arrays.
        names: names of the arrays in the files.
        slices: which part of a variable each array is, as TensorFlow words it; empty: the whole.
    """

    def __init__(self, tensors: Sequence[tf.Tensor], names: np.ndarray, slices: np.ndarray) -> None:
        with tf.Graph().as_default() as self._graph:
            self._prefix = tf.placeholder(tf.string, [])
            self._holders = [tf.placeholder(tensor.dtype, None) for tensor in tensors]
            self._saved = tf.raw_ops.SaveV2(
                prefix=self._prefix,
                tensor_names=names,
                shape_and_slices=slices,
                tensors=self._holders,
            )
        self._graph.finalize()

    def write(self, prefix: str, arrays: Sequence[np.ndarray | None]) -> None:
        """Writes arrays to the files of `prefix`."""
        # One thread and no GPU: the training needs the GPUs, and nearly all of the processors. The
        # thread is the session's own, which has the priority of the thread that is here.
        config = tf.ConfigProto(
            device_count={"GPU": 0},
            intra_op_parallelism_threads=1,
            inter_op_parallelism_threads=1,
            use_per_session_threads=True,
        )
        with tf.Session(graph=self._graph, config=config) as session:
            feeds = dict(zip(self._holders, arrays, strict=True))
            session.run(self._saved, {self._prefix: prefix, **feeds})


def _parts(indices: Sequence[int], sizes: Sequence[int], count: int) -> list[list[int]]:
    """Parts indices of `sizes` into at most `count` lists of about equal size, in order."""
    share = max(1, -(-sum(sizes[index] for index in indices) // count))
    parts: dict[int, list[int]] = {}
    before = 0
    for index in indices:
        parts.setdefault(min(before // share, count - 1), []).append(index)
        before += sizes[index]
    return list(parts.values())


def _size(tensor: tf.Tensor) -> int:
    count = tensor.shape.num_elements()
    return 0 if count is None else count * tensor.dtype.size


def _copied(value: Any, dtype: tf.DType, before: np.ndarray | None) -> np.ndarray:
    """Returns a copy of `value`, in the memory of the copy `before` if shape and type are equal."""
    if dtype == tf.string:
        return np.array(value, dtype=object)
    array = np.asarray(value)
    if before is None or before.shape != array.shape or before.dtype != array.dtype:
        memory = np.empty(array.nbytes + _ALIGNED, np.uint8)
        start = -memory.ctypes.data % _ALIGNED
        before = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    before[...] = array
    return before
