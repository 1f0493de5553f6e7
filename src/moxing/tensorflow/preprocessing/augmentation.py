"""An augmentation family with an output size, as a function of one image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.data import fusion
from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.preprocessing import pixels, randomness
from moxing.tensorflow.preprocessing.plan import Family, Plan

# The dtypes that TensorFlow's bilinear kernel reads.
_DTYPES = (
    tf.uint8,
    tf.int8,
    tf.uint16,
    tf.int16,
    tf.int32,
    tf.int64,
    tf.float16,
    tf.bfloat16,
    tf.float32,
    tf.float64,
)


@dataclass(frozen=True)
class Augmentation:
    """A function from an image to an augmented image.

    `augmentation(image)` has two steps, between which a reader may put the decoder:

        plan = augmentation.plan(size)          # from the size alone
        crop = ...                              # the plan's window of the image
        image = augmentation.finish(crop, plan)

    Attributes:
      family: the augmentation family.
      random: whether the augmentation is random, as in training.
      height: the number of rows of the result.
      width: the number of columns of the result.
    """

    family: Family
    random: bool
    height: int
    width: int

    def __call__(self, image: Any, seed: Any = None) -> tf.Tensor:
        """Augments one image.

        Args:
          image: a tensor [h, w, c] with values from 0 to 255, integers or floats, which give equal
            results; c must be known statically, but h and w need not be.
          seed: an integer tensor of shape [2] that determines all random numbers; None: they follow
            the graph's seed. See `randomness.uniform`.

        Returns:
          A float32 tensor of static shape [height, width, c], with values from 0 to 255 (but see
          `Cifarnet`).

        Raises:
          MoxValueError: the image has another rank, or an unknown number of channels.
          MoxTypeError: the dtype of the image is not numeric.
        """
        tensor = check_image(image)
        with tf.name_scope("augmentation"):
            plan = self.plan(tf.shape(tensor)[:2], seed)
            crop = pixels.cut(tensor, plan.window)
            crop.set_shape([None, None, tensor.shape[2]])
            result = self.finish(crop, plan)
        if seed is None:
            fusion.note(tensor, self, result)
        return result

    def plan(self, size: tf.Tensor, seed: Any = None) -> Plan:
        """Returns the plan for an image of `size`, int32 [2] with rows and columns."""
        count = self.family.count if self.random else 0
        numbers = randomness.uniform(count, seed) if count else []
        return self.family.plan(size, (self.height, self.width), numbers)

    def finish(self, crop: tf.Tensor, plan: Plan) -> tf.Tensor:
        """Returns the augmented image from the plan's window [rows, columns, c] of the image."""
        tensor = check_image(crop)
        image = self.family.finish(tensor, plan, (self.height, self.width))
        image.set_shape([self.height, self.width, tensor.shape[2]])
        return image


def check_image(image: Any) -> tf.Tensor:
    """Returns the image as a tensor [h, w, c]; see `Augmentation.__call__` for the errors."""
    tensor = tf.convert_to_tensor(image)
    if tensor.dtype.base_dtype not in _DTYPES:
        hint = " Decode it first, with tf.image.decode_jpeg." if tensor.dtype == tf.string else ""
        raise MoxTypeError(
            f"augmentation: the image is of {tensor.dtype.name}; it must be of whole numbers or "
            f"floats, from 0 to 255.{hint}"
        )
    if tensor.shape.rank is None:
        raise MoxValueError(
            "augmentation: the image has an unknown shape; say what is known of it: "
            "image.set_shape([None, None, 3])"
        )
    # Use a list, because in v1 behavior an unknown dimension of a shape is not None.
    shape = tensor.shape.as_list()
    if len(shape) == 4:
        raise MoxValueError(
            f"augmentation: the image has shape {shape}, which is a batch; augment each "
            f"image, [height, width, channels], before batching."
        )
    if len(shape) != 3:
        hint = " Add the channel: image[:, :, tf.newaxis]." if len(shape) == 2 else ""
        raise MoxValueError(
            f"augmentation: the image has shape {shape}; it must be "
            f"[height, width, channels].{hint}"
        )
    if shape[2] is None:
        raise MoxValueError(
            f"augmentation: the image has shape {shape}; the number of channels must be "
            f"known: image.set_shape([None, None, 3])"
        )
    return tensor
