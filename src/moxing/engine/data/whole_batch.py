"""Shares a batch that input_fn made for all devices of a process among these devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import structure
from moxing.errors import MoxNotSupportedError, MoxValueError


@dataclass(frozen=True)
class WholeBatch:
    """A result of input_fn that is one batch for all devices of the process.

    Attributes:
        inputs: tensors, or lists and dicts of tensors, of shape [samples, ...]. Scalars go to each
            device as they are.
    """

    inputs: Any


@dataclass(frozen=True)
class Part:
    """The part of a batch that a device takes.

    Attributes:
        tensors: the part of each tensor.
        count: the number of samples: scalar int64, or an int where the number is known.
        real: scalar bool, whether the device has samples; None: it always has.
    """

    tensors: list[Any]
    count: tf.Tensor | int
    real: tf.Tensor | None


def share(inputs: Any, devices: int, full: bool) -> list[Part]:
    """Cuts tensors along their first axis into one part for each device.

    Args:
        inputs: a normalized structure of tensors.
        devices: the number of devices.
        full: whether all devices must get equally many samples, as in training, where the mean of
            the devices' gradients is the gradient of the batch. Otherwise the first devices get
            one sample more each, and a device without samples gets one of zeros.

    Raises:
        MoxValueError: the size of the batch is known and can't be divided, or there is no batch.
        MoxNotSupportedError: a tensor is sparse or ragged.
    """
    leaves = structure.leaves(inputs)
    _check(leaves)
    sizes = {
        leaf.shape.as_list()[0] if leaf.shape.rank else None
        for _, leaf in leaves
        if leaf.shape.rank != 0
    }
    known = next(iter(sizes)) if len(sizes) == 1 else None
    if full and known is not None and known % devices:
        raise MoxValueError(
            f"input_fn returned a batch of {known} samples ({structure.describe(inputs)}) to be"
            f" split over {devices} devices (split_to_device), which is no whole number each. Make"
            f" batches of a multiple of {devices}."
        )
    tensors = [leaf for _, leaf in leaves]
    return _equal(tensors, devices, known) if full else _uneven(tensors, devices)


def _check(leaves: Sequence[tuple[str, Any]]) -> None:
    for path, leaf in leaves:
        if isinstance(leaf, structure.COMPOSITE):
            raise MoxNotSupportedError(
                f"{path} is a {type(leaf).__name__}, which split_to_device can't split over"
                " devices. Return dense tensors, or leave split_to_device out."
            )
    if all(leaf.shape.rank == 0 for _, leaf in leaves):
        raise MoxValueError(
            "input_fn returned scalars only, so split_to_device has no batch to split. Return"
            " tensors of shape [samples, ...], or leave split_to_device out."
        )


def _first_axis(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns the number of samples, int64, of the first tensor that has an axis for them."""
    batch = next(tensor for tensor in tensors if tensor.shape.rank != 0)
    return tf.shape(batch, out_type=tf.int64)[0]


def _equal(tensors: Sequence[tf.Tensor], devices: int, known: int | None) -> list[Part]:
    """Cuts equal parts; the step fails where a batch can't be divided."""
    found = _first_axis(tensors)
    checks = []
    if known is None:
        advice = f"Make batches of a multiple of {devices}, or leave split_to_device out."
        told = f"input_fn gave a batch that {devices} devices cannot share equally. {advice}"
        data = [tf.constant(told), tf.constant("Samples in the batch:"), found]
        checks = [tf.raw_ops.Assert(condition=tf.equal(found % devices, 0), data=data)]
    with tf.control_dependencies(checks):
        cut = [
            [tensor] * devices if tensor.shape.rank == 0 else tf.split(tensor, devices)
            for tensor in tensors
        ]
    count = found // devices if known is None else known // devices
    return [Part([parts[index] for parts in cut], count, None) for index in range(devices)]


def _uneven(tensors: Sequence[tf.Tensor], devices: int) -> list[Part]:
    """Cuts parts that differ by one sample at most; the last ones may be without samples."""
    found = _first_axis(tensors)
    padded = [tensor if tensor.shape.rank == 0 else _with_zeros(tensor) for tensor in tensors]
    parts, start = [], tf.constant(0, tf.int64)
    for index in range(devices):
        count = (found + devices - 1 - index) // devices
        taken = tf.maximum(count, 1)
        cut = [
            tensor if tensor.shape.rank == 0 else tensor[start : start + taken] for tensor in padded
        ]
        parts.append(Part(cut, count, count > 0))
        start += count
    return parts


def _with_zeros(tensor: tf.Tensor) -> tf.Tensor:
    """Returns the tensor with one sample of zeros (or empty strings) behind its last."""
    shape = tf.concat([[1], tf.shape(tensor)[1:]], 0)
    return tf.concat([tensor, tf.zeros(shape, tensor.dtype)], 0)
