"""Stores long lists in a graph, compressed so that a million paths take a few megabytes."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence

import numpy as np
import tensorflow.compat.v1 as tf


def strings(items: Sequence[str]) -> tf.Tensor:
    """Returns the strings as a string tensor [n], in the encoding of the file system.

    The strings must not contain NUL characters, which file names never do.
    """
    text = _unpacked(b"\0".join(os.fsencode(item) for item in items))
    parts = tf.raw_ops.StringSplitV2(input=text, sep=tf.constant(b"\0"), maxsplit=-1)
    return tf.ensure_shape(parts.values, [len(items)])


def numbers(array: np.ndarray) -> tf.Tensor:
    """Returns the numbers as an int64 tensor [n]."""
    values = tf.io.decode_raw(_unpacked(array.astype("<i8").tobytes()), tf.int64)[0]
    return tf.ensure_shape(values, [len(array)])


def octets(array: np.ndarray) -> tf.Tensor:
    """Returns the elements of a uint8 array as a flat tensor."""
    # Such arrays are large: the fastest level compresses them well enough in half a second.
    values = tf.io.decode_raw(_unpacked(array.tobytes(), level=1), tf.uint8)[0]
    return tf.ensure_shape(values, [array.size])


def _unpacked(content: bytes, level: int = 6) -> tf.Tensor:
    """Returns the content as a tensor [1], decompressed from a smaller constant."""
    return tf.io.decode_compressed(tf.constant([zlib.compress(content, level)]), "ZLIB")
