"""Names of TensorFlow that were renamed or moved: before 1.0, and inside `tensorflow.python`."""
