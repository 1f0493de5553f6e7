"""Keeps many strings in a graph: compressed, so that a list of a million paths stays small."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence

import tensorflow.compat.v1 as tf


def tensor(strings: Sequence[str]) -> tf.Tensor:
    """The strings as a tensor [n] of bytes, as the file system has them.

    They must have no NUL characters, as file names never do.
    """
    joined = b"\0".join(os.fsencode(text) for text in strings)
    packed = tf.constant(zlib.compress(joined, 1))
    text = tf.io.decode_compressed(packed[tf.newaxis], "ZLIB")
    parts = tf.raw_ops.StringSplitV2(input=text, sep=tf.constant(b"\0"), maxsplit=-1)
    return tf.ensure_shape(parts.values, [len(strings)])
