"""Which elements of a tensor are the largest: thresholds by top-k, sampled for large tensors."""

from __future__ import annotations

import math

import tensorflow.compat.v1 as tf

EXACT_BELOW = 1 << 16
"""Up to this number of elements the threshold is exact; above, it comes from a sample."""


def largest_mask(tensor: tf.Tensor, sparsity: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
    """True for the share 1 - sparsity of elements that are largest in absolute value.

    A tensor of up to `EXACT_BELOW` elements keeps exactly max(1, round((1 - sparsity) n)) of
    them, and those equal to the last. For a larger one the threshold is that of a strided sample
    of 1 %, but at least `EXACT_BELOW` elements; the sample begins at another element at each step,
    and is a function of the step alone, so that a resumed run draws the same.

    Args:
      tensor: any shape, known statically.
      sparsity: float32 scalar in [0, 1).
      step: integer scalar.

    Returns:
      A bool tensor of the same shape.

    Reference: Lin et al., Deep Gradient Compression (2018), arXiv:1712.01887, section 3.1 and the
    sampling of its section 5, without the second pass over the elements selected.
    """
    magnitude = tf.abs(tensor)
    sample = _sample(tf.reshape(magnitude, [-1]), tensor.shape.num_elements(), step)
    kept = tf.round(tf.cast(tf.size(sample), tf.float32) * (1.0 - sparsity))
    largest = tf.math.top_k(sample, tf.maximum(tf.cast(kept, tf.int32), 1)).values
    return magnitude >= largest[-1]


def room(size: int, share: float) -> int:
    """For how many elements of a tensor a message has room, at least 1.

    A threshold that comes from a sample lets about (1 - share) size elements through, give or take
    their standard deviation; three of these are rarely too few.

    Args:
      size: elements of the tensor.
      share: the sparsity.
    """
    kept = size * (1.0 - share)
    if size <= EXACT_BELOW:
        return max(round(kept), 1)
    sampled = max(kept / _stride(size), 1.0)
    return min(math.ceil(kept * (1.0 + 3.0 / math.sqrt(sampled))), size)


def _stride(size: int) -> int:
    """An odd stride meets all channels of a layer whose number of channels is a power of two."""
    return max(size // max(EXACT_BELOW, size // 100), 1) | 1


def _sample(flat: tf.Tensor, size: int, step: tf.Tensor) -> tf.Tensor:
    if size <= EXACT_BELOW:
        return flat
    stride = _stride(size)
    begin = tf.cast(tf.mod(step, stride), tf.int32)
    return flat[begin::stride]
