"""The hook of `tf.contrib.tpu` that writes checkpoints."""

from __future__ import annotations

import tensorflow.compat.v1 as tf


class AsyncCheckpointSaverHook(tf.train.CheckpointSaverHook):
    """Saves a checkpoint every so many steps or seconds, as `tf.train.CheckpointSaverHook` does.

    On TPUs a thread of its own wrote the file; here the checkpoint is there when the step ends.
    The arguments are those of `tf.train.CheckpointSaverHook`.
    """
