"""Converts checkpoints: the flow dialect's folders to TensorFlow's files and back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import CheckpointError, MoxValueError
from moxing.flow import checkpoint

_COUNTER = "System-Train-TrainStep-"


def convert(src: str, dst: str, like: str | None = None) -> tuple[int, str]:
    """Converts a checkpoint; returns how many variables, and the kind that was written.

    Args:
        src: a folder of the flow dialect, or the prefix of a TensorFlow checkpoint.
        dst: the other of the two.
        like: prefix of a TensorFlow checkpoint that has shapes and types of the same names.

    Raises:
        CheckpointError: `src` is neither, or does not fit `like`.
        MoxValueError: there is something at `dst`.
    """
    if os.path.isdir(src):
        if not os.path.exists(os.path.join(src, checkpoint.DONE)):
            raise CheckpointError(
                f"{src} has no {checkpoint.DONE}: it is no checkpoint, or its save was cut short."
            )
        return _to_tensorflow(src, dst, like), "TensorFlow"
    reader = _reader(src)
    checkpoint.check_target(dst)
    names = sorted(reader.get_variable_to_shape_map())
    checkpoint.write(dst, ((name, reader.get_tensor(name)) for name in names))
    return len(names), "flow"


def _reader(prefix: str) -> Any:
    try:
        return tf.train.NewCheckpointReader(prefix)
    except (tf.errors.OpError, ValueError) as error:
        raise CheckpointError(
            f"there is no checkpoint {prefix} that TensorFlow can read."
        ) from error


def _to_tensorflow(src: str, dst: str, like: str | None) -> int:
    if os.path.exists(dst + ".index"):
        raise MoxValueError(f"there is a checkpoint {dst} already. Choose another name.")
    names = sorted(checkpoint.names(src))
    values = dict(zip(names, _values(src, names, like), strict=True))
    with tf.Graph().as_default(), tf.Session() as session:
        holders = [tf.placeholder(value.dtype, value.shape) for value in values.values()]
        slices = [""] * len(names)
        save = tf.raw_ops.SaveV2(
            prefix=dst, tensor_names=names, shape_and_slices=slices, tensors=holders
        )
        os.makedirs(os.path.dirname(os.path.abspath(dst)), exist_ok=True)
        session.run(save, dict(zip(holders, values.values(), strict=True)))
    return len(names)


def _values(src: str, names: list[str], like: str | None) -> Iterator[np.ndarray]:
    reader = _reader(like) if like is not None else None
    shapes = reader.get_variable_to_shape_map() if reader is not None else {}
    types = reader.get_variable_to_dtype_map() if reader is not None else {}
    for name in names:
        dtype = types.get(name, tf.int64 if name.startswith(_COUNTER) else tf.float32)
        shape = shapes.get(name, [-1])
        size = os.path.getsize(checkpoint.file_of(src, name))
        wanted = int(np.prod(shape)) * dtype.size
        if (shape == [-1] and size % dtype.size) or (shape != [-1] and size != wanted):
            raise CheckpointError(
                f"variable {name} of {src} has {size} bytes, which is no {dtype.name} of shape"
                f" {shape}. Give its shape and type with --like."
            )
        yield checkpoint.read(src, name, dtype.as_numpy_dtype).reshape(shape)
