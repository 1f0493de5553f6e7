"""Converts checkpoints: the flow dialect's folders to TensorFlow's files and back."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.saving.saver import save_arrays
from moxing.engine.remote.fetch import fetch_path
from moxing.engine.remote.scratch import room
from moxing.errors import CheckpointError, MoxValueError
from moxing.flow.saving import shapes, snapshot, storage
from moxing.flow.saving.shapes import Shape
from moxing.framework import file
from moxing.framework.file.configuration import tuning
from moxing.logs import TENSORFLOW

_COUNTER = "System-Train-TrainStep-"


def convert(src: str, dst: str, like: str | None = None) -> tuple[int, str]:
    """Converts a checkpoint; returns the number of variables, and the kind that was written.

    Args:
        src: a folder of the flow dialect, or the prefix of a TensorFlow checkpoint; local or in a
            store.
        dst: the other of these two kinds.
        like: prefix of a TensorFlow checkpoint whose shapes and types to use, by name.

    Raises:
        CheckpointError: `src` is neither, or does not fit `like`.
        MoxValueError: there is something at `dst`.
        OSError: a store fails.
    """
    if file.is_directory(src):
        if not file.exists(os.path.join(src, snapshot.DONE)):
            raise CheckpointError(
                f"{src} has no {snapshot.DONE}: it is no checkpoint, or its save was cut short."
            )
        with storage.here(src) as folder, _prefix(dst) as prefix:
            return _to_tensorflow(folder, prefix, like, src), "TensorFlow"
    with _local(src) as prefix:
        reader = _reader(prefix, src)
        storage.check_target(dst)
        names = sorted(reader.get_variable_to_shape_map())
        storage.write(dst, ((name, reader.get_tensor(name)) for name in names))
    return len(names), "flow"


@contextmanager
def _local(prefix: str) -> Iterator[str]:
    """The prefix of a TensorFlow checkpoint on the local disk."""
    if not file.is_remote(prefix):
        yield prefix
        return
    with room(tuning.staging_dir()) as folder:
        if not file.exists(f"{prefix}.index"):
            raise CheckpointError(f"there is no checkpoint {prefix} that TensorFlow can read.")
        yield fetch_path(prefix, folder, whole=True)


@contextmanager
def _prefix(dst: str) -> Iterator[str]:
    """Yields a local prefix to write to; then copies the files to `dst`, the index last."""
    if file.exists(dst + ".index"):
        raise MoxValueError(f"there is a checkpoint {dst} already. Choose another name.")
    if not file.is_remote(dst):
        yield dst
        return
    with room(tuning.staging_dir()) as folder:
        prefix = os.path.join(folder, "model")
        yield prefix
        written = sorted(glob.glob(f"{prefix}.*"), key=lambda path: path.endswith(".index"))
        for path in written:
            file.copy(path, dst + path.removeprefix(prefix))


def _reader(prefix: str, named: str) -> Any:
    try:
        return tf.train.NewCheckpointReader(prefix)
    except (tf.errors.OpError, ValueError) as error:
        raise CheckpointError(
            f"there is no checkpoint {named} that TensorFlow can read."
        ) from error


def values(src: str) -> dict[str, np.ndarray]:
    """Reads all values of a checkpoint of the flow dialect, by the names of the variables.

    Args:
        src: the folder, local or in a store.

    Raises:
        CheckpointError: the checkpoint is damaged.
        OSError: the store fails.
    """
    with storage.here(src) as folder:
        return _named_values(folder, None, src)


def _to_tensorflow(src: str, dst: str, like: str | None, named: str) -> int:
    values = _named_values(src, like, named)
    os.makedirs(os.path.dirname(os.path.abspath(dst)), exist_ok=True)
    save_arrays(values, dst)
    return len(values)


def _named_values(src: str, like: str | None, named: str) -> dict[str, np.ndarray]:
    names = sorted(snapshot.names(src))
    return dict(zip(names, _values(src, names, like, named), strict=True))


def _values(src: str, names: list[str], like: str | None, named: str) -> Iterator[np.ndarray]:
    known = shapes.read(src, named)
    known.update(_like(like) if like is not None else {})
    presumed = [name for name in names if name not in known and not name.startswith(_COUNTER)]
    if presumed:
        TENSORFLOW.warning(
            "%s does not say what its bytes are, so they are taken for vectors of float32: %s. Give"
            " shapes and types with --like.",
            *(named, snapshot.listed(presumed)),
        )
    for name in names:
        shape = known.get(name) or _presumed(src, name)
        size = os.path.getsize(snapshot.file_of(src, name))
        if shape.bytes != size:
            raise CheckpointError(
                f"variable {name} of {named} has {size} bytes, which is no {shape.dtype.name} of"
                f" shape {shape.sizes}. Give its shape and type with --like."
            )
        yield snapshot.read(src, name, shape.dtype.as_numpy_dtype).reshape(shape.sizes)


def _presumed(src: str, name: str) -> Shape:
    dtype = tf.int64 if name.startswith(_COUNTER) else tf.float32
    return Shape(dtype, (os.path.getsize(snapshot.file_of(src, name)) // dtype.size,))


def _like(prefix: str) -> dict[str, Shape]:
    """Shapes and types of the variables of a TensorFlow checkpoint."""
    with _local(prefix) as local:
        reader = _reader(local, prefix)
        types = reader.get_variable_to_dtype_map()
        sizes = reader.get_variable_to_shape_map()
        return {name: Shape(dtype, tuple(sizes[name])) for name, dtype in types.items()}
