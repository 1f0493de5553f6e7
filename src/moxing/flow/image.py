"""`flow.image`: images of the readers of 2020."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow import absent, data, random
from moxing.flow.data import records
from moxing.flow.data.conf import BlobConf
from moxing.flow.data.records import Images
from moxing.flow.operations import arrays, pictures
from moxing.flow.trace import context, rules
from moxing.flow.trace.blobs import Blob, tensor_of
from moxing.flow.trace.parallel import by_sample


def _blob(given: Images, conf: BlobConf, name: str | None) -> Blob:
    return data.decode_ofrecord(blobs=conf, name=name, **given.records.settings)[0]


def Resize(  # noqa: N802
    input_blob: Images | Blob,
    color_space: str = "BGR",
    interp_type: str = "Linear",
    resize_shorter: int = 0,
    resize_x: int = 0,
    resize_y: int = 0,
    name: str | None = None,
) -> Images | Blob:
    """Resizes images bilinearly.

    Args:
        input_blob: images of a decoder.
        color_space: without effect; the decoder's color space is used.
        interp_type: "Linear".
        resize_shorter: pixels of the shorter side; a crop follows.
        resize_x: width.
        resize_y: height.
        name: the name of the operation.

    Returns:
        With both sides a blob of shape (batch, resize_y, resize_x, channels), uint8.

    Raises:
        MoxTypeError: the input is not of a decoder.
        MoxValueError: the interpolation or the sides are not valid.
    """
    del color_space
    if not isinstance(input_blob, Images):
        raise MoxTypeError(
            "flow.image.Resize takes the result of flow.data.OFRecordImageDecoder, not"
            f" {shown(input_blob)}."
        )
    if str(interp_type).lower() != "linear":
        raise MoxValueError(f"flow.image.Resize: interp_type={shown(interp_type)}; it is 'Linear'.")
    made = records.resized(input_blob, resize_shorter, resize_x, resize_y)
    return made if isinstance(made, Images) else _blob(input_blob, made, name)


@by_sample(rules.aligned("pixels", "mirror"))
def _finished(
    pixels: Blob,
    mirror: Any,
    box: tuple[int, int, int, int],
    layout: str,
    mean: Sequence[float],
    std: Sequence[float],
    dtype: tf.DType,
    name: str | None,
) -> Blob:
    own = context.op_name(name, "crop_mirror_normalize")
    y, x, height, width = box
    values = tensor_of(pixels, "flow.image.CropMirrorNormalize")
    values = values[:, y : y + height, x : x + width]
    if isinstance(mirror, Blob):
        flags = tensor_of(mirror, "flow.image.CropMirrorNormalize")
        values = tf.where_v2(tf.not_equal(flags, 0), tf.reverse(values, [2]), values)
    values = tf.cast(values, dtype) - np.asarray(mean, dtype.as_numpy_dtype)
    if any(item != 1 for item in std):
        values = values * np.asarray(1 / np.asarray(std), dtype.as_numpy_dtype)
    if layout == "NCHW":
        result = tf.transpose(values, [0, 3, 1, 2], name=own)
        return Blob(result)
    return Blob(tf.identity(values, name=own))


def CropMirrorNormalize(  # noqa: N802
    input_blob: Images | Blob,
    mirror_blob: Blob | None = None,
    color_space: str = "BGR",
    output_layout: str = "NCHW",
    crop_h: int = 0,
    crop_w: int = 0,
    crop_pos_y: float = 0.5,
    crop_pos_x: float = 0.5,
    mean: Sequence[float] = (0.0,),
    std: Sequence[float] = (1.0,),
    output_dtype: Any = tf.float32,
    name: str | None = None,
) -> Blob:
    """A window of each image, mirrored where `mirror_blob` is not 0, as (x - mean) / std.

    Args:
        input_blob: the result of a decoder or of `Resize`.
        mirror_blob: a blob of shape (batch,), such as `flow.random.CoinFlip` returns; None to
            mirror no image.
        color_space: without effect; the decoder's color space is used.
        output_layout: "NCHW" or "NHWC".
        crop_h, crop_w: the window's size; 0 for the whole of resized images.
        crop_pos_y, crop_pos_x: the window's position, as a share of the free space.
        mean, std: one number, or one for each channel.
        output_dtype: the data type of the result.
        name: the name of the operation.

    Raises:
        MoxTypeError: the input has no images.
        MoxValueError: a layout or a window that makes no sense.
    """
    del color_space
    if output_layout not in ("NCHW", "NHWC"):
        raise MoxValueError(
            f"flow.image.CropMirrorNormalize: output_layout={shown(output_layout)}; it is NCHW or"
            " NHWC."
        )
    if isinstance(input_blob, Images):
        conf = records.cropped(input_blob, crop_h, crop_w, crop_pos_y, crop_pos_x)
        input_blob, crop_h, crop_w = _blob(input_blob, conf, None), 0, 0
    if not isinstance(input_blob, Blob) or len(input_blob.static_shape) != 4:
        raise MoxTypeError(
            "flow.image.CropMirrorNormalize takes images of a decoder or of flow.image.Resize, not"
            f" {shown(input_blob)}."
        )
    box = records.window(input_blob, crop_h, crop_w, crop_pos_y, crop_pos_x)
    kind, flags = tf.as_dtype(output_dtype), mirror_blob
    if flags is not None:
        flags = arrays.reshape(flags, (-1, 1, 1, 1))
    return _finished(input_blob, flags, box, output_layout, mean, std, kind, name)


resize, crop_mirror_normalize = Resize, CropMirrorNormalize
decode, target_resize = pictures.image_decode, pictures.image_target_resize
batch_align, normalize = pictures.image_batch_align, pictures.image_normalize
flip, CoinFlip = pictures.image_flip, random.CoinFlip

__getattr__, __dir__ = absent.of("flow.image", globals())
