"""Groups small tensors into messages, since each message has a fixed cost beside its bytes."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow.compat.v1 as tf


def buckets(tensors: Sequence[tf.Tensor], small: int, most: int) -> list[list[int]]:
    """Returns groups of indices: small neighboring tensors of one type share a message.

    Args:
        tensors: gradients, in the order in which back-propagation computes them.
        small: a tensor of fewer bytes is small.
        most: the most bytes of small tensors in one message.
    """
    found: list[list[int]] = []
    filled = 0
    for index, tensor in enumerate(tensors):
        size = tensor.shape.num_elements()
        nbytes = None if size is None else size * tensor.dtype.size
        is_small = nbytes is not None and nbytes < small
        joins = is_small and filled and tensors[found[-1][0]].dtype == tensor.dtype
        if joins and filled + (nbytes or 0) <= most:
            found[-1].append(index)
            filled += nbytes or 0
        else:
            found.append([index])
            filled = (nbytes or 0) if is_small else 0
    return found
