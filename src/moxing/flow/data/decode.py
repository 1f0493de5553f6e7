"""TensorFlow operations that turn a batch of serialized records into blobs' values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from google.protobuf import descriptor_pb2

from moxing.flow.core.record.record_pb2 import LISTS, file_descriptor
from moxing.flow.data.conf import (
    BlobConf,
    CropAt,
    ImageCenterCropPreprocessor,
    ImageCropWithRandomSizePreprocessor,
    ImagePreprocessor,
    ImageResizePreprocessor,
    ImageTargetResizePreprocessor,
    NormByChannelPreprocessor,
)
from moxing.flow.trace.images import pixels_of

_NUMBERS = {
    "float_list": tf.float32,
    "double_list": tf.float64,
    "int32_list": tf.int32,
    "int64_list": tf.int64,
}
_SCHEMA = (
    b"bytes://"
    + descriptor_pb2.FileDescriptorSet(file=[file_descriptor(maps=False)]).SerializeToString()
)
TOO_LARGE = "a window that is not within the image"
_GREY = (0.299, 0.587, 0.114)  # The weights of red, green and blue (ITU-R BT.601).


def _proto(content: Any, message: str, fields: list[str], types: list[Any]) -> Any:
    return tf.io.decode_proto(
        content, f"oneflow.{message}", fields, types, descriptor_source=_SCHEMA
    )


def features(records: tf.Tensor, names: list[str]) -> dict[str, tf.Tensor]:
    """The serialized `Feature` of each name, [batch]."""
    entries = _proto(records, "OFRecord", ["feature"], [tf.string])
    keys, values = _proto(
        entries.values[0], "OFRecord.FeatureEntry", ["key", "value"], [tf.string, tf.string]
    ).values
    keys, values = tf.squeeze(keys, -1), tf.squeeze(values, -1)
    found = {}
    for name in names:
        here = tf.equal(keys, name)
        with tf.control_dependencies([_require(tf.reduce_any(here, 1), "no feature")]):
            place = tf.argmax(tf.cast(here, tf.int32), 1)
        found[name] = tf.gather(values, place, batch_dims=1)
    return found


def _require(truth: tf.Tensor, what: str) -> tf.Operation:
    # Nobody sees this message: the reader checks the records and names the wrong one.
    return tf.debugging.Assert(tf.reduce_all(truth), [what])


def _strings(feature: tf.Tensor) -> Any:
    """Returns bytes values [batch, n] and their numbers [batch]."""
    lists = _proto(feature, "Feature", ["bytes_list"], [tf.string])
    # A missing list is "", which has no values.
    values = _proto(lists.values[0][:, 0], "BytesList", ["value"], [tf.string])
    return values.values[0], values.sizes[:, 0]


def _first(values: tf.Tensor) -> tf.Tensor:
    """Returns the only value of each list, "" if it is empty."""
    return tf.strings.reduce_join(values, axis=1)


def raw(feature: tf.Tensor, conf: BlobConf) -> tf.Tensor:
    """Numbers of shape [batch, *conf.shape]."""
    count, padding = math.prod(conf.shape), conf.codec.auto_zero_padding
    lists = _proto(feature, "Feature", list(LISTS), [tf.string] * len(LISTS))
    rows, sizes = [], 0
    for index, field in enumerate(LISTS):
        if field == "bytes_list":
            continue
        kind, content = _NUMBERS[field], _first(lists.values[index])
        decoded = _proto(content, LISTS[field][0], ["value"], [kind])
        # TensorFlow returns one default value for an empty field.
        values = decoded.values[0][:, : tf.reduce_max(decoded.sizes)]
        rows.append(tf.cast(values, conf.dtype))
        sizes = sizes + decoded.sizes[:, 0]
    numbers = tf.concat(rows, 1)
    texts, amount = _strings(feature)
    numbers, sizes = tf.cond(
        tf.reduce_any(amount > 0),
        lambda: _of_bytes(texts, amount, count, conf.dtype),
        lambda: (numbers, sizes),
    )
    fits = sizes <= count if padding else tf.equal(sizes, count)
    with tf.control_dependencies([_require(fits, "another number of elements")]):
        numbers = tf.pad(
            numbers[:, :count], [[0, 0], [0, tf.maximum(count - tf.shape(numbers)[1], 0)]]
        )
    return tf.reshape(numbers, [-1, *conf.shape])


def _of_bytes(texts: tf.Tensor, amount: tf.Tensor, count: int, dtype: tf.DType) -> Any:
    with tf.control_dependencies([_require(tf.equal(amount, 1), "not one bytes value")]):
        first = texts[:, 0]
    values = _signed(first, max(count, 1))
    return tf.cast(values, dtype), tf.strings.length(first)


def _signed(texts: tf.Tensor, length: int) -> tf.Tensor:
    """The bytes as int8, [n, length], padded with 0."""
    return tf.raw_ops.DecodePaddedRaw(input_bytes=texts, fixed_length=length, out_type=tf.int8)


def bytes_rows(feature: tf.Tensor, conf: BlobConf) -> tf.Tensor:
    """Bytes of shape [batch, n, length]."""
    rows, length = conf.shape
    texts, amount = _strings(feature)
    fits = tf.reduce_all(tf.equal(amount, rows)) & tf.reduce_all(tf.strings.length(texts) <= length)
    with tf.control_dependencies([_require(fits, "bytes of another shape")]):
        values = _signed(tf.reshape(texts, [-1]), length)
    return tf.cast(tf.reshape(values, [-1, rows, length]), conf.dtype)


def image(content: tf.Tensor, conf: BlobConf) -> tf.Tensor:
    """Decodes an image of shape conf.shape; channels are BGR unless swapped."""
    height, width, channels = conf.shape
    pixels = pixels_of(content)
    # Channels are put into OpenCV's order at the end, which is cheaper on the smaller image.
    reversed_ = True
    for step in conf.codec.image_preprocessors or ():
        if isinstance(step, ImageResizePreprocessor):
            resized = tf.raw_ops.ResizeBilinear(
                images=pixels[None], size=[step.height, step.width], half_pixel_centers=True
            )[0]
            # Values stay floats from here on: casts to bytes and back cost time.
            pixels = tf.round(resized)
        elif isinstance(step, ImageTargetResizePreprocessor):
            sides = tf.shape(pixels)[:2]
            shorter = tf.cast(tf.reduce_min(sides), tf.float64)
            scaled = tf.round(tf.cast(sides, tf.float64) * (step.resize_shorter / shorter))
            resized = tf.raw_ops.ResizeBilinear(
                images=pixels[None], size=tf.cast(scaled, tf.int32), half_pixel_centers=True
            )[0]
            pixels = tf.round(resized)
        elif isinstance(step, ImagePreprocessor) and step.preprocessor == "mirror":
            pixels = tf.image.random_flip_left_right(pixels)
        elif isinstance(step, ImagePreprocessor):
            reversed_ = not reversed_
        else:
            pixels = _cropped(pixels, step)
    shape = tf.shape(pixels)
    with tf.control_dependencies([_require(tf.equal(shape[:2], [height, width]), "another size")]):
        pixels = tf.reverse(pixels, [-1]) if reversed_ and channels == 3 else tf.identity(pixels)
    if channels == 1:
        weights = _GREY if reversed_ else _GREY[::-1]
        grey = tf.reduce_sum(tf.cast(pixels, tf.float32) * weights, -1, keepdims=True)
        pixels = tf.round(grey)
    return tf.cast(tf.ensure_shape(pixels, conf.shape), conf.dtype)


def _cropped(pixels: tf.Tensor, step: Any) -> tf.Tensor:
    """The window of an image that a preprocessor cuts out."""
    if isinstance(step, ImageCropWithRandomSizePreprocessor):
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.shape(pixels),
            tf.zeros([1, 0, 4]),
            min_object_covered=0.0,
            aspect_ratio_range=step.ratio,
            area_range=step.area,
            max_attempts=step.max_attempts,
            use_image_if_no_bounding_boxes=True,
        )
        return tf.slice(pixels, begin, size)
    free = tf.shape(pixels)[:2] - [step.height, step.width]
    if isinstance(step, ImageCenterCropPreprocessor):
        corner = free // 2
    elif isinstance(step, CropAt):
        places = tf.constant([step.y, step.x], tf.float64) * tf.cast(free, tf.float64)
        corner = tf.cast(tf.floor(places), tf.int32)
    elif step.random_xy:
        corner = tf.cast(tf.random.uniform([2]) * tf.cast(free + 1, tf.float32), tf.int32)
        corner = tf.minimum(corner, free)
    else:
        corner = tf.constant([step.y or 0, step.x or 0])
    with tf.control_dependencies([_require((corner >= 0) & (corner <= free), TOO_LARGE)]):
        return tf.slice(pixels, tf.concat([corner, [0]], 0), [step.height, step.width, -1])


def preprocessed(value: tf.Tensor, conf: BlobConf) -> tf.Tensor:
    """A batch or a sample after the conf's preprocessors."""
    for step in conf.preprocessors:
        dtype = value.dtype.as_numpy_dtype
        mean, std = (_along(v, step, conf, dtype) for v in (step.mean_values, step.std_values))
        value = value - mean
        if any(s != 1 for s in step.std_values):
            value = value / std
    return value


def _along(
    values: Sequence[float], step: NormByChannelPreprocessor, conf: BlobConf, dtype: Any
) -> Any:
    """Returns values of channels in a shape that broadcasts with samples."""
    shape = [1] * len(conf.shape)
    if step.data_format != "no_channel":
        shape[-1 if step.data_format == "channels_last" else 0] = -1
    result = np.reshape(np.asarray(values, dtype), shape)
    if step.data_format == "channels_last" and len(shape) > 1:
        # The values are repeated to a whole row of an image: with few channels this halves the
        # time.
        result = np.broadcast_to(result, (*shape[:-2], *conf.shape[-2:])).copy()
    return result
