"""Keeps long lists in a graph: compressed, so that a million paths stay a few megabytes."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence

import numpy as np
import tensorflow.compat.v1 as tf


def strings(items: Sequence[str]) -> tf.Tensor:
    """The strings as a tensor [n] of bytes, as the file system has them.

    They must have no NUL characters, as file names never do.
    """
    text = _unpacked(b"\0".join(os.fsencode(item) for item in items))
    parts = tf.raw_ops.StringSplitV2(input=text, sep=tf.constant(b"\0"), maxsplit=-1)
    return tf.ensure_shape(parts.values, [len(items)])


def numbers(array: np.ndarray) -> tf.Tensor:
    """The int64 numbers as a tensor [n]."""
    values = tf.io.decode_raw(_unpacked(array.astype("<i8").tobytes()), tf.int64)[0]
    return tf.ensure_shape(values, [len(array)])


def octets(array: np.ndarray) -> tf.Tensor:
    """The uint8 numbers of an array as a flat tensor."""
    # There are many; the best that can be had in half a second is good enough.
    values = tf.io.decode_raw(_unpacked(array.tobytes(), level=1), tf.uint8)[0]
    return tf.ensure_shape(values, [array.size])


def _unpacked(content: bytes, level: int = 6) -> tf.Tensor:
    """The content, [1], of a constant that is smaller."""
    return tf.io.decode_compressed(tf.constant([zlib.compress(content, level)]), "ZLIB")
