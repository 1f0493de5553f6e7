"""Definitions of what a job is given when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown


@dataclass(frozen=True)
class InputDef:
    """A job's input: its shape, data type, and whether fewer elements may come."""

    shape: tuple[int, ...]
    dtype: tf.DType
    is_dynamic: bool = False
    mirrored: bool = False

    def placeholder(self, name: str) -> tf.Tensor:
        """Where the values come in."""
        shape = [None] * len(self.shape) if self.is_dynamic else list(self.shape)
        return tf.placeholder(self.dtype, shape, name=f"input_{name}")

    def check(self, job: str, name: str, value: Any) -> np.ndarray:
        """The array to feed.

        Raises:
            MoxTypeError, MoxValueError: the definition says otherwise.
        """
        if self.mirrored and isinstance(value, list | tuple) and len(value) == 1:
            value = value[0]
        place = f"job {job}, argument {name}"
        if not isinstance(value, np.ndarray):
            raise MoxTypeError(f"{place}: it takes a numpy array, not {shown(value)}.")
        if value.dtype != self.dtype.as_numpy_dtype:
            raise MoxTypeError(
                f"{place}: the array is {value.dtype}, and its definition {self.dtype.name}. Use"
                f" array.astype(np.{self.dtype.name})."
            )
        fits = value.shape == self.shape
        if self.is_dynamic:
            fits = value.ndim == len(self.shape) and value.size <= np.prod(self.shape)
        if not fits:
            word = " at most" if self.is_dynamic else ""
            raise MoxValueError(
                f"{place}: the array has shape {value.shape}, and its definition{word}"
                f" {self.shape}."
            )
        return value


def input_blob_def(
    shape: Sequence[int],
    dtype: Any = tf.float32,
    is_dynamic: bool = False,
    batch_axis: int = 0,
    distribute: Any = None,
    name: str | None = None,
) -> InputDef:
    """An input of a fixed shape; with `is_dynamic`, of no more elements than that."""
    del batch_axis, distribute, name
    return InputDef(tuple(int(size) for size in shape), tf.as_dtype(dtype), is_dynamic)


def FixedTensorDef(  # noqa: N802
    shape: Sequence[int],
    dtype: Any = tf.float32,
    batch_axis: int | None = 0,
    split_axis: Any = "same_with_batch_axis",
    name: str | None = None,
) -> InputDef:
    """An input of a fixed shape."""
    del batch_axis, split_axis, name
    return input_blob_def(shape, dtype)


def MirroredTensorDef(  # noqa: N802
    shape: Sequence[int], dtype: Any = tf.float32, batch_axis: int = 0, name: str | None = None
) -> InputDef:
    """A list of one array a device, each of no more elements than `shape` has."""
    del batch_axis, name
    return InputDef(tuple(int(size) for size in shape), tf.as_dtype(dtype), True, True)


def MirroredTensorListDef(*args: Any, **kwargs: Any) -> InputDef:  # noqa: N802
    """Not offered."""
    raise MoxNotSupportedError("flow.MirroredTensorListDef is not offered; use MirroredTensorDef.")
