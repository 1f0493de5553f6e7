"""Images cut or padded to a size without resizing, as the families for small images do."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing.plan import Plan


def frame(
    size: tf.Tensor,
    output: tuple[int, int],
    margin: int = 0,
    place: list[tf.Tensor] | None = None,
) -> Plan:
    """A frame of size `output` on the image, with black where it reaches over the edge.

    Args:
      size: int32 [2], rows and columns of the image.
      output: rows and columns of the frame.
      margin: how far, in pixels, the frame may reach over each edge.
      place: two numbers of [0, 1) that say where it is; None: in the middle.
    """
    target = tf.constant(output)
    if place is None:
        # Halves are rounded down for what is cut off and for the padding before the image.
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
