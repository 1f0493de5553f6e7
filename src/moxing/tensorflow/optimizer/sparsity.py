"""Selects the largest elements of a tensor with a top-k threshold, sampled for large tensors."""

from __future__ import annotations

import math

import tensorflow.compat.v1 as tf

EXACT_BELOW = 1 << 16
"""Up to this number of elements the threshold is exact; above, it comes from a sample."""


def largest_mask(tensor: tf.Tensor, sparsity: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
    """Returns a mask of the share 1 - sparsity of elements with the largest absolute values.

    A tensor of up to `EXACT_BELOW` elements keeps exactly max(1, round((1 - sparsity) n)) of them,
    plus any elements equal to the smallest one kept. For a larger tensor, the threshold comes from
    a strided sample of 1 %, but at least `EXACT_BELOW` elements. The sample starts at another
    element at each step and depends only on the step, so that a resumed run draws the same sample.

    Args:
      tensor: a tensor of any static shape.
      sparsity: a float32 scalar in [0, 1).
      step: an integer scalar.

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
    """Returns the number of elements of a tensor that a message has room for, at least 1.

    A sampled threshold selects about (1 - share) size elements, with a standard deviation; a margin
    of three standard deviations rarely is too small.

    Args:
      size: the number of elements of the tensor.
      share: the sparsity.
    """
    kept = size * (1.0 - share)
    if size <= EXACT_BELOW:
        return max(round(kept), 1)
    sampled = max(kept / _stride(size), 1.0)
    return min(math.ceil(kept * (1.0 + 3.0 / math.sqrt(sampled))), size)


def _stride(size: int) -> int:
    """Returns an odd stride, which reaches all channels of a layer with 2^n channels."""
    return max(size // max(EXACT_BELOW, size // 100), 1) | 1


def _sample(flat: tf.Tensor, size: int, step: tf.Tensor) -> tf.Tensor:
    if size <= EXACT_BELOW:
        return flat
    stride = _stride(size)
    begin = tf.cast(tf.mod(step, stride), tf.int32)
    return flat[begin::stride]
