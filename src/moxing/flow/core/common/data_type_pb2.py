"""Data types by the names of the original's enum: the same values as `flow.float` and others."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

kChar, kFloat, kDouble, kFloat16 = tf.int8, tf.float32, tf.float64, tf.float16
kInt8, kUInt8, kInt32, kInt64 = tf.int8, tf.uint8, tf.int32, tf.int64
