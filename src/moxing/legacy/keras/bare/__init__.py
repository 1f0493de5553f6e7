"""Parts of Keras 2 that only the package `keras` had, and `tf.keras` of TensorFlow 1.15 did not."""
