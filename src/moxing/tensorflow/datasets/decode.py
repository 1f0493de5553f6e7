"""Decodes image files in the graph, whatever their format, to uint8 of three channels.

What TensorFlow's decoders refuse fails here too, without saying which file it was: `guard` says it.
Rotation marks of cameras (EXIF orientation) are not applied, as TensorFlow's decoders never do: a
model server that decodes with them sees the same pixels.
"""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import bitmap
from moxing.tensorflow.preprocessing import Augmentation

_JPEG_END = b"\xff\xd9"


def decode(content: tf.Tensor) -> tf.Tensor:
    """The image of a file, uint8 [rows, columns, 3]; of an animation, the first frame.

    JPEG (also gray and CMYK), PNG (16 bits are cut to 8, alpha is dropped), GIF, WebP, and BMP.
    """
    image = tf.cond(
        tf.io.is_jpeg(content),
        lambda: tf.io.decode_jpeg(content, channels=3),
        lambda: _decode_other(content),
    )
    image.set_shape([None, None, 3])
    return image


def decode_and_augment(
    content: tf.Tensor, augmentation: Augmentation, seed: tf.Tensor, whole: bool = False
) -> tf.Tensor:
    """`augmentation` of the image, float32; of a JPEG no more is decoded than it uses.

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

    # A JPEG that does not end as one may be cut: then only decoding all of it shows the damage.
    complete = tf.equal(tf.strings.substr(content, -len(_JPEG_END), len(_JPEG_END)), _JPEG_END)
    image = tf.cond(tf.io.is_jpeg(content) & complete, of_crop, of_whole)
    image.set_shape([augmentation.height, augmentation.width, 3])
    return image


def _decode_other(content: tf.Tensor) -> tf.Tensor:
    def starts(magic: bytes) -> tf.Tensor:
        return tf.equal(tf.strings.substr(content, 0, len(magic)), magic)

    formats = [
        (starts(b"\x89PNG"), lambda: tf.io.decode_png(content, channels=3)),
        (starts(b"GIF8"), lambda: tf.io.decode_gif(content)[0]),
        (starts(b"RIFF"), lambda: tf.raw_ops.DecodeWebP(contents=content, channels=3)[0]),
    ]
    return tf.case(formats, lambda: _bitmap(content), exclusive=False)


def _bitmap(content: tf.Tensor) -> tf.Tensor:
    # Rare enough for Python: TensorFlow's own decoder reads no palettes.
    return tf.numpy_function(bitmap.decode, [content], tf.uint8)
