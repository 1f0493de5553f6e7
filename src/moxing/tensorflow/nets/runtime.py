"""Properties of the process and run that networks use."""

from __future__ import annotations

import tensorflow.compat.v1 as tf


def gpu_present() -> bool:
    """Whether TensorFlow sees a GPU; the check allocates no GPU memory."""
    return bool(tf.config.list_physical_devices("GPU"))


def global_step() -> tf.Tensor:
    """Returns the global step as a float32 scalar; creates the variable if it does not exist."""
    step = tf.train.get_global_step()
    if step is None:
        # In the scope of a layer, it would get that layer's name and the program's custom getter.
        root = tf.VariableScope(reuse=False, name="")
        with tf.variable_scope(root, auxiliary_name_scope=False):
            step = tf.train.create_global_step()
    return tf.cast(step, tf.float32)
