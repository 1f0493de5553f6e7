"""Restores behavior of `tf.distribute` on which programs of TensorFlow 2.0 to 2.4 rely."""
