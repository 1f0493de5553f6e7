"""Sums of a train step over machines; see `exchange` for the weights of losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.flow.trace import context, scopes
from moxing.flow.trace.blobs import Blob
from moxing.flow.trace.context import Watch
from moxing.flow.training.reads import Read


def elements(loss: Blob) -> tf.Tensor:
    """How many elements a loss has on all machines, in its own type, or float32 for half.

    The largest number in half precision is 65504.
    """
    kind = tf.float32 if loss.dtype == tf.float16 else loss.dtype
    if loss.is_dynamic:
        own, exchange = tf.size(loss.own), context.exchange()
        if exchange is not None and loss.apart:
            own = exchange.total(own)
        return tf.cast(own, kind)
    return tf.cast(tf.constant(math.prod(loss.static_shape)), kind)


def seed(loss: Blob, value: tf.Tensor) -> tf.Tensor:
    """Returns the initial gradient of a loss on this machine.

    Args:
        value: the gradient of each element, as one machine would have it.
    """
    exchange = context.exchange()
    if not loss.apart and exchange is not None:
        value = value / exchange.size  # All machines compute the whole loss.
    return tf.fill(tf.shape(loss.own), tf.cast(value, loss.dtype))


def dense(gradients: Sequence[Any], of_reads: Sequence[Read]) -> list[tf.Tensor | None]:
    """The gradients as tensors; those at whole trained variables are summed over machines."""
    found = [tf.convert_to_tensor(g) if g is not None else None for g in gradients]
    exchange = context.exchange()
    if exchange is None:
        return found
    # The last layers' gradients are known first. A part's gradient is complete on its own machine.
    whole = [i for i, read in enumerate(of_reads) if read.part is None]
    order = [i for i in reversed(whole) if found[i] is not None]
    sums = exchange.sums([found[i] for i in order], scopes.active()[0])
    for index, total in zip(order, sums, strict=True):
        found[index] = total
    return found


def watched(watch: Watch) -> tf.Tensor:
    """The whole gradient at a watched blob, given this machine's share."""
    exchange = context.exchange()
    if exchange is None:
        return watch.deliver
    if watch.blob.mirrored and watch.blob.apart:  # Each machine's gradient has a size of its own.
        # A gradient has the shape of its blob, on all devices of a machine together.
        here = (len(watch.blob.parts) or 1, *watch.blob.static_shape)
        given = [exchange.given(watch.deliver, i, here) for i in range(exchange.size)]
        return tf.concat(given, 0)
    return watch.blob.joined(watch.deliver) if watch.blob.apart else exchange.total(watch.deliver)
