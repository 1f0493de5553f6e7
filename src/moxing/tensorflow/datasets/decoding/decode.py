"""Decodes image files of any supported format in the graph, to uint8 with three channels.

Content that TensorFlow's decoders refuse fails here, too, in an error that does not name the file;
`guard` names it. Like TensorFlow's decoders, this module does not apply the EXIF orientation of
cameras, so that a model server that uses these decoders sees the same pixels.
"""

from __future__ import annotations

import functools

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.decoding import animation, bitmap
from moxing.tensorflow.preprocessing import Augmentation

# The maximum number of pixels, 0.8 GB; of an animation, which is decoded whole, in all frames.
LARGEST = 1 << 28

_JPEG_END = b"\xff\xd9"
_LARGE = 1 << 26  # Above this number of pixels, a JPEG is decoded at a smaller scale.
_LARGE_BYTES = 700_000  # Such a JPEG has more bytes: at least 6 bits per block of 64 pixels.
_RATIOS = (1, 2, 4, 8)


def decode(content: tf.Tensor) -> tf.Tensor:
    """Decodes the content of an image file, uint8 [rows, columns, 3]; of an animation, frame 0.

    Supports JPEG (also gray and CMYK), PNG (16 bits are cut to 8, alpha is dropped), GIF, WebP and
    BMP. Fails for more than `LARGEST` pixels, which would take gigabytes.
    """
    image = tf.cond(
        tf.io.is_jpeg(content),
        lambda: _decode_jpeg(content),
        lambda: _decode_other(content),
    )
    image.set_shape([None, None, 3])
    return image


def decode_and_augment(
    content: tf.Tensor, augmentation: Augmentation, seed: tf.Tensor, whole: bool = False
) -> tf.Tensor:
    """Returns the augmented image, float32; decodes only the part of a JPEG that is used.

    A very large JPEG (more than 2^26 pixels in the window used) is decoded at a half, a quarter or
    an eighth of its scale, provided that it still has twice the result's pixels in each direction.

    Args:
        content: the content of the file.
        augmentation: the augmentation.
        seed: the seed of all random numbers, int64 of shape [2].
        whole: whether to decode the whole image, to find damage outside the window, too.
    """

    def of_whole() -> tf.Tensor:
        return augmentation(decode(content), seed)

    if whole:
        return of_whole()

    def of_crop() -> tf.Tensor:
        plan = augmentation.plan(tf.io.extract_jpeg_shape(content)[:2], seed)
        crop = tf.image.decode_and_crop_jpeg(content, plan.window, channels=3)
        return augmentation.finish(crop, plan)

    def of_large() -> tf.Tensor:
        plan = augmentation.plan(tf.io.extract_jpeg_shape(content)[:2], seed)
        output = (augmentation.height, augmentation.width)
        return augmentation.finish(_scaled_crop(content, plan.window, output), plan)

    # A JPEG without an end marker may be cut off; only decoding the whole image shows the damage.
    complete = tf.equal(tf.strings.substr(content, -len(_JPEG_END), len(_JPEG_END)), _JPEG_END)
    ordinary = tf.strings.length(content) < _LARGE_BYTES
    croppable = tf.io.is_jpeg(content) & complete
    image = tf.cond(croppable & ordinary, of_crop, lambda: tf.cond(croppable, of_large, of_whole))
    image.set_shape([augmentation.height, augmentation.width, 3])
    return image


def _scaled_crop(content: tf.Tensor, window: tf.Tensor, output: tuple[int, int]) -> tf.Tensor:
    """Decodes the window of a JPEG, at a smaller scale if it is much larger than `output`."""
    rows, columns = tf.unstack(window[2:], num=2)
    spare = tf.reduce_min(window[2:] // (2 * tf.constant(output)))
    scale = tf.math.count_nonzero(spare >= tf.constant(_RATIOS[1:]), dtype=tf.int32)
    large = tf.cast(rows, tf.int64) * tf.cast(columns, tf.int64) > _LARGE

    def at(ratio: int) -> tf.Tensor:
        return tf.raw_ops.DecodeAndCropJpeg(
            contents=content, crop_window=window // ratio, channels=3, ratio=ratio
        )

    branches = [functools.partial(at, ratio) for ratio in _RATIOS]
    return tf.switch_case(tf.where(large, scale, 0), branches)


def _decode_jpeg(content: tf.Tensor) -> tf.Tensor:
    with tf.control_dependencies([_check_size(tf.io.extract_jpeg_shape(content)[:2])]):
        return tf.io.decode_jpeg(content, channels=3)


def _decode_png(content: tf.Tensor) -> tf.Tensor:
    # The first chunk starts with the numbers of columns and rows.
    size = tf.io.decode_raw(tf.strings.substr(content, 16, 8), tf.int32, little_endian=False)
    with tf.control_dependencies([_check_size(size)]):
        return tf.io.decode_png(content, channels=3)


def _decode_gif(content: tf.Tensor) -> tf.Tensor:
    pixels = tf.numpy_function(animation.pixels, [content], tf.int64)
    with tf.control_dependencies([_check_size(pixels)]):
        return tf.io.decode_gif(content)[0]


def _check_size(size: tf.Tensor) -> tf.Operation:
    pixels = tf.reduce_prod(tf.cast(size, tf.int64))
    return tf.debugging.Assert(pixels <= LARGEST, ["too many pixels", pixels])


def _decode_other(content: tf.Tensor) -> tf.Tensor:
    def starts(magic: bytes) -> tf.Tensor:
        return tf.equal(tf.strings.substr(content, 0, len(magic)), magic)

    formats = [
        (starts(b"\x89PNG"), lambda: _decode_png(content)),
        (starts(b"GIF8"), lambda: _decode_gif(content)),
        (starts(b"RIFF"), lambda: tf.raw_ops.DecodeWebP(contents=content, channels=3)[0]),
    ]
    return tf.case(formats, lambda: _bitmap(content), exclusive=False)


def _bitmap(content: tf.Tensor) -> tf.Tensor:
    # TensorFlow's own decoder reads no palettes. Bitmaps are rare enough for Python code.
    return tf.numpy_function(bitmap.decode, [content], tf.uint8)
