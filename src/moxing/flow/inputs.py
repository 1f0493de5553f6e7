"""Definitions of what a job is given when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown
from moxing.flow import parallel, placement
from moxing.flow.blobs import Blob
from moxing.flow.settings import MACHINE


@dataclass(frozen=True)
class InputDef:
    """A job's input: its shape, data type, and whether fewer elements may come."""

    shape: tuple[int, ...]
    dtype: tf.DType
    is_dynamic: bool = False
    mirrored: bool = False
    by_sample: bool = True  # Whether each device takes its part of axis 0.

    def placeholder(self, name: str) -> tf.Tensor:
        """Where the values come in."""
        shape = [None] * len(self.shape) if self.is_dynamic else list(self.shape)
        return tf.placeholder(self.dtype, shape, name=f"input_{name}")

    def blob(self, place: str, tensor: tf.Tensor) -> Blob:
        """What the job's code gets of the placeholder: on several devices, in parts.

        Args:
            place: names the job and the argument, in errors.
            tensor: the placeholder.

        Raises:
            MoxValueError: the devices can't share the samples evenly.
            MoxNotSupportedError: it is mirrored, and there are several devices.
        """
        count = placement.total()
        if MACHINE.exchange is not None:
            tensor = MACHINE.exchange.given(tensor)
        if count > 1 and self.mirrored:
            raise MoxNotSupportedError(
                f"{place}: MirroredTensorDef runs on one device, and there are {count}. Use"
                " FixedTensorDef."
            )
        if count == 1 or self.is_dynamic or not self.by_sample or not self.shape:
            return Blob(tensor, declared=self.shape)
        parallel.share(self.shape[0], f"{place}, shape {self.shape}")
        return Blob(None, parts=parallel.split(tensor, count))

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
    batch_axis: int | None = 0,
    distribute: Any = None,
    name: str | None = None,
) -> InputDef:
    """An input of a fixed shape; with `is_dynamic`, of no more elements than that.

    On several devices each takes its part along axis 0, unless `batch_axis` is another or None, or
    `distribute` is `flow.distribute.broadcast()`, or the input is dynamic.
    """
    del name
    split = batch_axis == 0 and getattr(distribute, "kind", "") != "broadcast"
    sizes = tuple(int(size) for size in shape)
    return InputDef(sizes, tf.as_dtype(dtype), is_dynamic, by_sample=split)


def FixedTensorDef(  # noqa: N802
    shape: Sequence[int],
    dtype: Any = tf.float32,
    batch_axis: int | None = 0,
    split_axis: Any = "same_with_batch_axis",
    name: str | None = None,
) -> InputDef:
    """An input of a fixed shape, which devices share along axis 0 unless an axis is None."""
    del name
    return input_blob_def(shape, dtype, batch_axis=None if split_axis is None else batch_axis)


def MirroredTensorDef(  # noqa: N802
    shape: Sequence[int], dtype: Any = tf.float32, batch_axis: int = 0, name: str | None = None
) -> InputDef:
    """A list of one array a device, each of no more elements than `shape` has."""
    del batch_axis, name
    return InputDef(tuple(int(size) for size in shape), tf.as_dtype(dtype), True, True)


def MirroredTensorListDef(*args: Any, **kwargs: Any) -> InputDef:  # noqa: N802
    """Not offered."""
    raise MoxNotSupportedError("flow.MirroredTensorListDef is not offered; use MirroredTensorDef.")
