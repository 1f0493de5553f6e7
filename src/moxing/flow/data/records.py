"""The readers of 2020: records, their decoders, and images whose sizes differ.

A reader returns a description, not a blob. A decoder whose samples have one shape makes a blob from
it; an image has a shape only after a resize or a crop, so until then steps are added to the
description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow.data.conf import (
    BlobConf,
    CropAt,
    ImageCodec,
    ImagePreprocessor,
    ImageResizePreprocessor,
    ImageTargetResizePreprocessor,
)
from moxing.flow.trace.blobs import Blob


@dataclass(frozen=True)
class Records:
    """Records of a dataset.

    Attributes:
        settings: the arguments of `decode_ofrecord`, by name.
    """

    settings: dict[str, Any]


@dataclass(frozen=True)
class Images:
    """Encoded images of records, with different sizes.

    Attributes:
        records: the records that hold the images.
        feature: the name of the images' feature.
        channels: 3, or 1 for gray ones.
        steps: the preprocessing of each image, in order.
    """

    records: Records
    feature: str
    channels: int
    steps: tuple[Any, ...] = field(default=())

    def after(self, *steps: Any) -> Images:
        """The images after more steps."""
        return replace(self, steps=(*self.steps, *steps))

    def conf(self, height: int, width: int) -> BlobConf:
        """The description of a blob of these images once all have this size."""
        shape = (height, width, self.channels)
        return BlobConf(self.feature, shape, tf.uint8, ImageCodec(self.steps))


def records_of(given: Any, operation: str) -> Records:
    """Returns records that a program gave to an operation.

    Raises:
        MoxTypeError: something else is given.
    """
    if not isinstance(given, Records):
        raise MoxTypeError(
            f"{operation} takes the result of flow.data.ofrecord_reader, not {shown(given)}."
        )
    return given


def images(
    given: Any, feature: str, color_space: str, steps: Sequence[Any], operation: str
) -> Images:
    """Images of records.

    Raises:
        MoxValueError: an unknown color space.
    """
    records = records_of(given, operation)
    if color_space not in ("BGR", "RGB", "GRAY"):
        raise MoxValueError(
            f"{operation}: color_space={shown(color_space)}; it is 'BGR', 'RGB' or 'GRAY'."
        )
    swap = (ImagePreprocessor("bgr2rgb"),) if color_space == "RGB" else ()
    return Images(records, feature, 1 if color_space == "GRAY" else 3, (*swap, *steps))


def resized(given: Images, shorter: int, width: int, height: int) -> Images | BlobConf:
    """Images after a resize: all of one size if both sides are given.

    Raises:
        MoxValueError: the arguments are neither the shorter side nor both sides.
    """
    if shorter > 0 and not width and not height:
        return given.after(ImageTargetResizePreprocessor(shorter))
    if shorter or width < 1 or height < 1:
        raise MoxValueError(
            f"flow.image.Resize: resize_shorter={shown(shorter)}, resize_x={shown(width)},"
            f" resize_y={shown(height)}: give resize_shorter alone, or the other two."
        )
    return given.after(ImageResizePreprocessor(width, height)).conf(height, width)


def cropped(given: Images, height: int, width: int, y: float, x: float) -> BlobConf:
    """The description of a window of each image.

    Raises:
        MoxValueError: the window is not valid.
    """
    if height < 1 or width < 1:
        raise MoxValueError(
            "flow.image.CropMirrorNormalize: images of several sizes need crop_h and crop_w, or a"
            " flow.image.Resize with resize_x and resize_y before."
        )
    return given.after(CropAt(width, height, x, y)).conf(height, width)


def window(blob: Blob, height: int, width: int, y: float, x: float) -> tuple[int, int, int, int]:
    """The window of a blob [n, h, w, c] to cut out: its first row and column, height and width.

    Raises:
        MoxValueError: the window is larger than the images.
    """
    full = blob.static_shape[1:3]
    height, width = height or full[0], width or full[1]
    if height > full[0] or width > full[1]:
        raise MoxValueError(
            f"flow.image.CropMirrorNormalize: a window of {(height, width)} is larger than the"
            f" images, which are {full}."
        )
    return int(y * (full[0] - height)), int(x * (full[1] - width)), height, width
