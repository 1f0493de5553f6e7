"""Plans images cut or padded to a size without resizing, for families of small images."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing.plan import Plan


def frame(
    size: tf.Tensor,
    output: tuple[int, int],
    margin: int = 0,
    place: list[tf.Tensor] | None = None,
) -> Plan:
    """Returns the plan of a frame of size `output`, which is black outside the image.

    Args:
      size: the (rows, columns) of the image, int32 of shape [2].
      output: the (rows, columns) of the frame.
      margin: the maximum distance, in pixels, that the frame may extend beyond each edge.
      place: two numbers in [0, 1) that determine the position; None: the middle.
    """
    target = tf.constant(output)
    if place is None:
        # Round halves down both for the pixels cut off and for the padding before the image.
        first = tf.where(size >= target, (size - target) // 2, -((target - size) // 2))
    else:
        low = tf.minimum(-margin, (size - target) // 2)
        high = tf.maximum(size + margin - target, low)
        first = low + tf.cast(tf.cast(high - low + 1, tf.float32) * tf.stack(place), tf.int32)
    before = tf.maximum(-first, 0)
    begin = tf.maximum(first, 0)
    end = tf.minimum(first + target, size)
    after = target - before - (end - begin)
    return Plan(tf.concat([begin, end - begin], 0), padding=tf.stack([before, after], 1))
