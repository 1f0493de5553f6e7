"""Writes values as a checkpoint, or as a `.npz` or `.safetensors` file."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import tensorflow.compat.v1 as tf

from moxing import native_noise
from moxing.engine.checkpoint import manifest, pointer
from moxing.engine.checkpoint.directory import ensure_directory
from moxing.engine.checkpoint.lock import lock
from moxing.engine.checkpoint.manifest import Manifest
from moxing.engine.checkpoint.names import present, step_of
from moxing.engine.checkpoint.saving import stage
from moxing.engine.checkpoint.saving.commit import commit
from moxing.engine.checkpoint.saving.failures import told_as
from moxing.engine.checkpoint.saving.saver import save_arrays, settle
from moxing.errors import MoxValueError
from moxing.framework import atomic, file
from moxing.runs.checkpoints.source import NPZ, SAFETENSORS, Values, safetensors


def write(values: Values, path: str) -> str:
    """Writes values, and returns the path that was written.

    Args:
        values: the values.
        path: a file that ends in `.npz` or `.safetensors`; or the prefix of a checkpoint; or an
            existing folder, in which the checkpoint gets the name `model.ckpt-STEP`.

    Raises:
        MoxValueError: the path exists, or values don't fit the format.
        CheckpointError: TensorFlow can't write the checkpoint.
        OSError: the disk fails.
    """
    if file.is_remote(path):
        raise MoxValueError(
            f"{path}: a checkpoint is written to the disk. Write it there, then `mox checkpoints"
            " copy` it to the store."
        )
    if path.endswith((NPZ, SAFETENSORS)):
        return _file(values, path)
    prefix = os.path.join(path, f"model.ckpt-{values.step or 0}") if os.path.isdir(path) else path
    if present(prefix):
        raise MoxValueError(f"There is a checkpoint {prefix} already. Choose another name.")
    whole = os.path.abspath(prefix)
    folder = os.path.dirname(whole)
    ensure_directory(folder, "the folder of the new checkpoint")
    with lock(folder), stage.stage(folder) as aside:
        _commit(values, whole, folder, aside)
    return prefix


def _file(values: Values, path: str) -> str:
    if os.path.exists(path):
        raise MoxValueError(f"There is a file {path} already. Choose another name.")
    for name, array in values.arrays.items():
        if array.dtype.kind not in "biufc" and array.dtype != tf.bfloat16.as_numpy_dtype:
            raise MoxValueError(
                f"{values.path}: variable {name} holds {_kind(array)}, which {path} can't hold."
                " Write a TensorFlow checkpoint instead."
            )
    if path.endswith(NPZ):
        # NumPy's format has no bfloat16; float32 represents every bfloat16 value exactly.
        plain = {name: _without_bfloat16(array) for name, array in values.arrays.items()}
        with (
            atomic.replacing(path, sync=True) as descriptor,
            os.fdopen(os.dup(descriptor), "wb") as f,
        ):
            np.savez(f, allow_pickle=False, **plain)
        return path
    contiguous = {name: np.ascontiguousarray(array) for name, array in values.arrays.items()}
    shaped = {name: new.reshape(values.arrays[name].shape) for name, new in contiguous.items()}
    content = safetensors().numpy.save(shaped, metadata={"format": "tf"})
    atomic.replace(path, [content], sync=True)
    return path


def _kind(array: np.ndarray) -> str:
    return "text" if array.dtype.kind in "OSU" else f"values of type {array.dtype}"


def _without_bfloat16(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype == tf.bfloat16.as_numpy_dtype else array


def _commit(values: Values, prefix: str, folder: str, aside: str) -> None:
    staged = os.path.join(aside, os.path.basename(prefix))
    with told_as(prefix), native_noise.dropped():  # A session's first run prints lines.
        save_arrays(values.arrays, staged)
    others = manifest.manifests(folder)
    serial = others[0][1].serial + 1 if others else 1
    step = values.step if values.step is not None else step_of(prefix) or 0
    record = Manifest(step, serial, {}, tuple(values.arrays))
    commit(staged, prefix, dataclasses.replace(record, files=settle(staged)))
    kept = [os.path.basename(other) for other, _ in reversed(others)]
    pointer.write(folder, [*kept, os.path.basename(prefix)], aside)
