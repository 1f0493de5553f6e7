"""`tf.contrib` of TensorFlow 1.x, on TensorFlow 2's kernels; table.py says what stands where."""
