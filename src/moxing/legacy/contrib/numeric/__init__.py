"""Functions of small parts of `tf.contrib`: sparse probabilities, differential equations."""
