"""`tf.contrib.image`'s projective transformations, on the operation that TensorFlow kept.

Written from the definition of a projective transformation (Hartley and Zisserman, Multiple View
Geometry, 2.3): output pixel (x, y) is read from input
((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) with k = c0 x + c1 y + 1.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.legacy.contrib.image.matching import bipartite_match as bipartite_match
from moxing.legacy.contrib.image.warp import dense_image_warp as dense_image_warp


def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Applies projective transformations to images; pixels read from outside are 0.

    Args:
        images: a tensor of shape [N, H, W, C], [H, W, C] or [H, W], of a dtype that
            `ImageProjectiveTransformV3` accepts.
        transforms: [a0, a1, a2, b0, b1, b2, c0, c1], one for all images or one per image.
        interpolation: "NEAREST" or "BILINEAR".
        output_shape: [height, width] of the output; None: those of `images`.
        name: the name of the operations.

    Returns:
        A tensor of the dtype of `images`, and of their shape but for `output_shape`.

    Raises:
        MoxValueError: `images` has another number of dimensions.
    """
    with tf.name_scope(name, "transform", [images, transforms]):
        images = tf.convert_to_tensor(images)
        rank = _rank(images)
        batch = images if rank == 4 else images[None, ..., None] if rank == 2 else images[None]
        vectors = tf.convert_to_tensor(transforms, tf.float32)
        vectors = vectors[None] if vectors.shape.ndims == 1 else vectors
        size = tf.shape(batch)[1:3] if output_shape is None else output_shape
        size = tf.convert_to_tensor(size, tf.int32)
        moved = tf.raw_ops.ImageProjectiveTransformV3(
            images=batch,
            transforms=vectors,
            output_shape=size,
            interpolation=interpolation.upper(),
            fill_mode="CONSTANT",
            fill_value=0.0,
        )
        known = batch.shape[1:3] if output_shape is None else tf.get_static_value(size)
        known = (None, None) if known is None else tuple(known)
        moved.set_shape([batch.shape[0], *known, batch.shape[3]])
        return moved if rank == 4 else moved[0, ..., 0] if rank == 2 else moved[0]


def rotate(
    images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """Rotates images counterclockwise around their centers.

    Args:
        images: see `transform`.
        angles: the angles in radians, one for all images or one per image.
        interpolation: "NEAREST" or "BILINEAR".
        name: the name of the operations.
    """
    with tf.name_scope(name, "rotate", [images, angles]):
        images = tf.convert_to_tensor(images)
        first = 1 if _rank(images) == 4 else 0
        size = tf.cast(tf.shape(images), tf.float32)
        transforms = angles_to_projective_transforms(angles, size[first], size[first + 1])
        return transform(images, transforms, interpolation)


def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """Translates images by [dx, dy] pixels, to the right and down."""
    with tf.name_scope(name, "translate", [images, translations]):
        transforms = translations_to_projective_transforms(translations)
        return transform(images, transforms, interpolation)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Any:
    """Returns transformations, of shape [angles, 8], that rotate images of a size by `angles`."""
    with tf.name_scope(name, "angles_to_projective_transforms"):
        angles = tf.convert_to_tensor(angles, tf.float32)
        angles = tf.reshape(angles, [-1])
        height = tf.cast(image_height, tf.float32) - 1.0
        width = tf.cast(image_width, tf.float32) - 1.0
        cosine, sine, zero = tf.cos(angles), tf.sin(angles), tf.zeros_like(angles)
        # The center of the image is a fixed point.
        shift_x = (width - (cosine * width - sine * height)) / 2.0
        shift_y = (height - (sine * width + cosine * height)) / 2.0
        return tf.stack([cosine, -sine, shift_x, sine, cosine, shift_y, zero, zero], axis=1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Any:
    """Returns transformations [N, 8] that translate images by `translations`, [N, 2] or [2]."""
    with tf.name_scope(name, "translations_to_projective_transforms"):
        translations = tf.reshape(tf.convert_to_tensor(translations, tf.float32), [-1, 2])
        dx, dy = translations[:, 0], translations[:, 1]
        one, zero = tf.ones_like(dx), tf.zeros_like(dx)
        return tf.stack([one, zero, -dx, zero, one, -dy, zero, zero], axis=1)


def compose_transforms(*transforms: Any) -> Any:
    """Returns the transformation [N, 8] that applies all transformations in their order.

    Args:
        *transforms: tensors of shape [N, 8] or [8], see `transform`.
    """
    if not transforms:
        raise MoxValueError("compose_transforms needs at least one transformation.")
    composed = flat_transforms_to_matrices(transforms[0])
    # A transformation maps points of its output to its input, so the first is the leftmost factor.
    for each in transforms[1:]:
        composed = tf.matmul(composed, flat_transforms_to_matrices(each))
    return matrices_to_flat_transforms(composed)


def flat_transforms_to_matrices(transforms: Any) -> Any:
    """Returns transformations [N, 8] as matrices [N, 3, 3], whose last element is 1."""
    flat = tf.reshape(tf.convert_to_tensor(transforms, tf.float32), [-1, 8])
    return tf.reshape(tf.concat([flat, tf.ones_like(flat[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Any:
    """Returns matrices [N, 3, 3] as transformations [N, 8], with 1 as the last element."""
    flat = tf.reshape(tf.convert_to_tensor(transform_matrices, tf.float32), [-1, 9])
    return (flat / flat[:, 8:])[:, :8]


def _rank(images: Any) -> int:
    rank = images.shape.ndims
    if rank not in (2, 3, 4):
        raise MoxValueError(f"images must have 2, 3 or 4 dimensions, not the shape {images.shape}.")
    return rank
