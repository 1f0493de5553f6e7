"""`tf.contrib` of TensorFlow 1.x, on TensorFlow 2's kernels; table.py maps names to modules."""
