"""Reads the values of a checkpoint in any supported format, from the disk or a store."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.reader import opened
from moxing.engine.remote.at_hand import at_hand
from moxing.errors import MoxValueError, shown
from moxing.framework import file
from moxing.runs.checkpoints.listing import FLOW_DONE

NPZ: Final = ".npz"
SAFETENSORS: Final = ".safetensors"
GLOBAL_STEP: Final = "global_step"
# What NumPy and Python raise for an archive that is damaged, encrypted, or no archive.
_NO_ARCHIVE: Final = (
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    AttributeError,
    KeyError,
    MemoryError,  # An array says that it is larger than the machine.
    NotImplementedError,
    RuntimeError,
)
_SAFE_TYPES: Final = {
    "BOOL": tf.bool,
    "U8": tf.uint8,
    "I8": tf.int8,
    "U16": tf.uint16,
    "I16": tf.int16,
    "U32": tf.uint32,
    "I32": tf.int32,
    "U64": tf.uint64,
    "I64": tf.int64,
    "F16": tf.float16,
    "BF16": tf.bfloat16,
    "F32": tf.float32,
    "F64": tf.float64,
}


@dataclass(frozen=True)
class Values:
    """The values of a checkpoint.

    Attributes:
        path: the path that the user gave.
        arrays: the values by the variables' names, in the order of the names.
        step: the global step; None: not known.
        left_out: names of entries that hold no numbers or text, such as states of iterators.
    """

    path: str
    arrays: Mapping[str, np.ndarray]
    step: int | None
    left_out: tuple[str, ...] = ()


def read(path: str) -> Values:
    """Reads the values of a TensorFlow checkpoint, or of a `.npz` or `.safetensors` file.

    Args:
        path: a prefix such as `out/model.ckpt-50`, any file of a checkpoint, a folder (its newest
            checkpoint; or a checkpoint of a flow program), or a file; on the disk or in a store.

    Raises:
        CheckpointError: there is no whole checkpoint at the path.
        MoxValueError: the file is damaged, or the package that reads it is not installed.
        OSError: the disk or the store fails.
    """
    if path.endswith((NPZ, SAFETENSORS)):
        arrays = _npz(path) if path.endswith(NPZ) else _safetensors(path)
        return Values(path, dict(sorted(arrays.items())), _step_in(arrays))
    if is_of_flow(path):
        from moxing.flow.saving import conversion

        values = conversion.values(path)
        return Values(path, dict(sorted(values.items())), _step_in(values))
    with at_hand(path, "the path") as checkpoint:
        return _tensorflow(path, checkpoint)


def is_of_flow(path: str) -> bool:
    """Whether a folder is a checkpoint of a flow program."""
    return file.exists(f"{path.rstrip('/')}/{FLOW_DONE}")


def _tensorflow(path: str, checkpoint: Checkpoint) -> Values:
    reader = opened(checkpoint.prefix)
    arrays: dict[str, np.ndarray] = {}
    left_out = []
    for name, dtype in sorted(reader.get_variable_to_dtype_map().items()):
        if dtype in (tf.variant, tf.resource):
            left_out.append(name)
        else:
            arrays[name] = np.asarray(reader.get_tensor(name))
    step = _step_in(arrays)
    return Values(path, arrays, checkpoint.step if step is None else step, tuple(left_out))


def _npz(path: str) -> dict[str, np.ndarray]:
    try:
        with file.File(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {name: _array(name, archive[name]) for name in archive.files}
    except _NO_ARCHIVE as error:
        raise MoxValueError(
            f"{path} is no archive of NumPy that can be read: {error}. Write it with numpy.savez,"
            " and without objects."
        ) from error


def _array(name: str, value: Any) -> np.ndarray:
    """Returns an array of an archive: NumPy gives the bytes of what is none."""
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{shown(name)} in it is no array")
    return value


def _safetensors(path: str) -> dict[str, np.ndarray]:
    package = safetensors()
    content = file.read(path, binary=True)
    try:
        return {
            name: np.frombuffer(
                bytes(view["data"]), _SAFE_TYPES[view["dtype"]].as_numpy_dtype
            ).reshape(view["shape"])
            for name, view in package.deserialize(content)
        }
    except (package.SafetensorError, KeyError, ValueError) as error:
        raise MoxValueError(f"{path} can't be read as safetensors: {error}.") from error


def safetensors() -> Any:
    """Returns the package `safetensors`.

    Raises:
        MoxValueError: the package is not installed.
    """
    try:
        import safetensors
        import safetensors.numpy  # noqa: F401
    except ImportError as error:
        raise MoxValueError(
            "The package safetensors is not installed. Install it: pip install"
            " 'openmox[safetensors]'; or use a .npz file, which needs no package."
        ) from error
    return safetensors


def _step_in(arrays: Mapping[str, np.ndarray]) -> int | None:
    value = arrays.get(GLOBAL_STEP)
    return (
        int(value) if value is not None and value.shape == () and value.dtype.kind in "iu" else None
    )
