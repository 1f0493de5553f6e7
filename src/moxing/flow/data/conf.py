"""Describes the features to read: codecs, preprocessors and `BlobConf`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown


@dataclass(frozen=True)
class ImageResizePreprocessor:
    """Resizes bilinearly, whatever the image's aspect ratio. The order is width, then height."""

    width: int
    height: int

    def __post_init__(self) -> None:
        _require_size("ImageResizePreprocessor", self.width, self.height)


@dataclass(frozen=True)
class ImagePreprocessor:
    """`"bgr2rgb"` swaps the channels; `"mirror"` flips half of the images."""

    preprocessor: str

    def __post_init__(self) -> None:
        if self.preprocessor not in ("bgr2rgb", "mirror"):
            raise MoxValueError(
                f"ImagePreprocessor takes 'bgr2rgb' or 'mirror', not {shown(self.preprocessor)}."
            )


def _require_size(what: str, width: Any, height: Any) -> None:
    if type(width) is not int or type(height) is not int:
        raise MoxTypeError(f"{what} takes width and height as whole numbers.")
    if width < 1 or height < 1:
        raise MoxValueError(f"{what}: width and height must be positive.")


@dataclass(frozen=True)
class ImageCropPreprocessor:
    """Cuts out a window at a random place, or with the upper left corner (x, y)."""

    width: int
    height: int
    random_xy: bool = True
    x: int | None = None
    y: int | None = None

    def __post_init__(self) -> None:
        _require_size("ImageCropPreprocessor", self.width, self.height)


@dataclass(frozen=True)
class ImageCenterCropPreprocessor:
    """Cuts out the window in the middle."""

    width: int
    height: int

    def __post_init__(self) -> None:
        _require_size("ImageCenterCropPreprocessor", self.width, self.height)


@dataclass(frozen=True)
class ImageCropWithRandomSizePreprocessor:
    """Cuts out a window of random size and place; a resize commonly follows.

    Attributes:
        area: least and greatest share of the image's area.
        ratio: least and greatest width by height.
        max_attempts: number of draws; if none fits, the whole image is taken.
    """

    area: Sequence[float] = (0.05, 1.0)
    ratio: Sequence[float] = (0.75, 1.333)
    max_attempts: int = 100

    def __post_init__(self) -> None:
        for what, pair, most in (("area", self.area, 1), ("ratio", self.ratio, float("inf"))):
            if len(pair) != 2 or not 0 < pair[0] <= pair[1] <= most:
                limit = " up to 1" if most == 1 else ""
                raise MoxValueError(
                    f"ImageCropWithRandomSizePreprocessor: {what}={shown(pair)}; it is a pair of"
                    f" positive numbers{limit}, the lower first."
                )


@dataclass(frozen=True)
class ImageTargetResizePreprocessor:
    """Resizes bilinearly so that the shorter side has that many pixels; keeps the aspect ratio."""

    resize_shorter: int

    def __post_init__(self) -> None:
        if type(self.resize_shorter) is not int or self.resize_shorter < 1:
            raise MoxValueError(
                f"ImageTargetResizePreprocessor: resize_shorter={shown(self.resize_shorter)}; it is"
                " a positive whole number."
            )


@dataclass(frozen=True)
class CropAt:
    """Cuts out a window at a share of the free space: (0.5, 0.5) is the middle."""

    width: int
    height: int
    x: float = 0.5
    y: float = 0.5


_IMAGE_STEPS = (
    ImageTargetResizePreprocessor,
    CropAt,
    ImageResizePreprocessor,
    ImagePreprocessor,
    ImageCropPreprocessor,
    ImageCenterCropPreprocessor,
    ImageCropWithRandomSizePreprocessor,
)


@dataclass(frozen=True)
class ImageCodec:
    """An encoded image: its channels are BGR, as OpenCV's."""

    image_preprocessors: Sequence[Any] = ()

    def __post_init__(self) -> None:
        for item in self.image_preprocessors or ():
            if not isinstance(item, _IMAGE_STEPS):
                raise MoxTypeError(f"ImageCodec takes image preprocessors, not {shown(item)}.")


@dataclass(frozen=True)
class RawCodec:
    """A list of numbers, or one bytes value whose bytes are taken as signed numbers.

    With `auto_zero_padding` a list may be shorter than the shape; the rest is 0.
    """

    auto_zero_padding: bool = False


@dataclass(frozen=True)
class BytesListCodec:
    """Several bytes values, each in a row of its own of shape (n, length), padded with 0."""


@dataclass(frozen=True)
class NormByChannelPreprocessor:
    """(x - mean) / std, by channel.

    `data_format` is "channels_last", "channels_first" or "no_channel". Images are BGR, and so must
    the means be, unless `ImagePreprocessor("bgr2rgb")` swapped them.
    """

    mean_values: Sequence[float]
    std_values: Sequence[float] = (1.0, 1.0, 1.0)
    data_format: str = "channels_last"

    def __post_init__(self) -> None:
        if self.data_format not in ("channels_last", "channels_first", "no_channel"):
            raise MoxValueError(
                f"NormByChannelPreprocessor: data_format={shown(self.data_format)}; it is"
                " channels_last, channels_first or no_channel."
            )
        if len(self.mean_values) != len(self.std_values):
            raise MoxValueError(
                f"NormByChannelPreprocessor has {len(self.mean_values)} means and"
                f" {len(self.std_values)} standard deviations; give std_values= as many."
            )


class BlobConf:
    """How a feature of the records becomes a blob."""

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        dtype: Any,
        codec: Any,
        preprocessors: Sequence[Any] | None = None,
    ) -> None:
        """Describes a feature.

        Args:
            name: key in the records.
            shape: the shape of a sample; () is one number.
            dtype: the data type of the blob.
            codec: `RawCodec()`, `ImageCodec()` or `BytesListCodec()`.
            preprocessors: applied in order, after the cast to `dtype`.
        """
        self.name, self.shape, self.dtype = name, tuple(shape), tf.as_dtype(dtype)
        self.codec, self.preprocessors = codec, tuple(preprocessors or ())
        if not isinstance(codec, ImageCodec | RawCodec | BytesListCodec):
            raise MoxTypeError(f"BlobConf {name!r}: {shown(codec)} is no codec.")
        if isinstance(codec, ImageCodec) and (len(self.shape) != 3 or self.shape[2] not in (1, 3)):
            raise MoxValueError(
                f"BlobConf {name!r}: an image's shape is (height, width, 1 or 3), not {self.shape}."
            )
        if isinstance(codec, BytesListCodec) and len(self.shape) != 2:
            raise MoxValueError(f"BlobConf {name!r}: BytesListCodec takes a shape (n, length).")
        for item in self.preprocessors:
            self._check(item)

    def _check(self, item: Any) -> None:
        if not isinstance(item, NormByChannelPreprocessor):
            raise MoxTypeError(
                f"BlobConf {self.name!r} takes NormByChannelPreprocessor, not {shown(item)}."
            )
        channels = 1
        if item.data_format != "no_channel":
            channels = self.shape[-1 if item.data_format == "channels_last" else 0]
        if len(item.mean_values) != channels:
            raise MoxValueError(
                f"BlobConf {self.name!r}: {len(item.mean_values)} means for {channels} channels of"
                f" shape {self.shape}."
            )
