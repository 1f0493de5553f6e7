"""Decodes image files in the graph, whatever their format, to uint8 of three channels.

What TensorFlow's decoders refuse fails here too, without saying which file it was: `guard` says it.
Rotation marks of cameras (EXIF orientation) are not applied, as TensorFlow's decoders never do: a
model server that decodes with them sees the same pixels.
"""

from __future__ import annotations

import functools

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.decoding import bitmap
from moxing.tensorflow.preprocessing import Augmentation

LARGEST = 1 << 28  # Pixels that are decoded: 0.8 GB.

_JPEG_END = b"\xff\xd9"
_LARGE = 1 << 26  # Pixels above which a JPEG is decoded at the scale that is needed.
_LARGE_BYTES = 700_000  # Fewer bytes are no such JPEG: a block of 64 pixels has 6 bits at least.
_RATIOS = (1, 2, 4, 8)


def decode(content: tf.Tensor) -> tf.Tensor:
    """The image of a file, uint8 [rows, columns, 3]; of an animation, the first frame.

    JPEG (also gray and CMYK), PNG (16 bits are cut to 8, alpha is dropped), GIF, WebP, and BMP. It
    fails for more than `LARGEST` pixels, which would take gigabytes.
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
    """`augmentation` of the image, float32; of a JPEG no more is decoded than it uses.

    A very large one (more than 2^26 pixels in the window used) is decoded at the half, quarter or
    eighth of its scale, as long as that has twice the pixels of the result in each direction.

    Args:
        content: of the file.
        augmentation: what to do.
        seed: int64 [2], decides on all random numbers.
        whole: decode all of the image, so that damage is found wherever the augmentation looks.
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

    # A JPEG that does not end as one may be cut: then only decoding all of it shows the damage.
    complete = tf.equal(tf.strings.substr(content, -len(_JPEG_END), len(_JPEG_END)), _JPEG_END)
    ordinary = tf.strings.length(content) < _LARGE_BYTES
    croppable = tf.io.is_jpeg(content) & complete
    image = tf.cond(croppable & ordinary, of_crop, lambda: tf.cond(croppable, of_large, of_whole))
    image.set_shape([augmentation.height, augmentation.width, 3])
    return image


def _scaled_crop(content: tf.Tensor, window: tf.Tensor, output: tuple[int, int]) -> tf.Tensor:
    """The window of a JPEG, at a smaller scale where it is very large and `output` is not."""
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
    # Columns and rows are the first numbers of the first chunk.
    size = tf.io.decode_raw(tf.strings.substr(content, 16, 8), tf.int32, little_endian=False)
    with tf.control_dependencies([_check_size(size)]):
        return tf.io.decode_png(content, channels=3)


def _check_size(size: tf.Tensor) -> tf.Operation:
    pixels = tf.reduce_prod(tf.cast(size, tf.int64))
    return tf.debugging.Assert(pixels <= LARGEST, ["too many pixels", pixels])


def _decode_other(content: tf.Tensor) -> tf.Tensor:
    def starts(magic: bytes) -> tf.Tensor:
        return tf.equal(tf.strings.substr(content, 0, len(magic)), magic)

    formats = [
        (starts(b"\x89PNG"), lambda: _decode_png(content)),
        (starts(b"GIF8"), lambda: tf.io.decode_gif(content)[0]),
        (starts(b"RIFF"), lambda: tf.raw_ops.DecodeWebP(contents=content, channels=3)[0]),
    ]
    return tf.case(formats, lambda: _bitmap(content), exclusive=False)


def _bitmap(content: tf.Tensor) -> tf.Tensor:
    # Rare enough for Python: TensorFlow's own decoder reads no palettes.
    return tf.numpy_function(bitmap.decode, [content], tf.uint8)
