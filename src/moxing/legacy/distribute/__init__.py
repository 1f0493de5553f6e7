"""What programs of TensorFlow 2.0 to 2.4 expect of `tf.distribute` that it does no longer."""
