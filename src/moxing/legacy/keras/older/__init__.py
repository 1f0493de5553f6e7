"""Parts of Keras 1.0 to 2.3, and of tf.keras until TensorFlow 2.4, that tf_keras no longer has."""
