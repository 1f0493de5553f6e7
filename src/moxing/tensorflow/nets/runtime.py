"""What a network needs to know of the process it is built in."""

from __future__ import annotations

import tensorflow.compat.v1 as tf


def gpu_present() -> bool:
    """Whether TensorFlow sees a GPU; asking takes no memory of it."""
    return bool(tf.config.list_physical_devices("GPU"))


def global_step() -> tf.Tensor:
    """The step count of the run, a float32 scalar; made if nothing made it before."""
    step = tf.train.get_global_step()
    if step is None:
        # In the scope of a layer it would get that layer's name and a user's custom getter.
        root = tf.VariableScope(reuse=False, name="")
        with tf.variable_scope(root, auxiliary_name_scope=False):
            step = tf.train.create_global_step()
    return tf.cast(step, tf.float32)
