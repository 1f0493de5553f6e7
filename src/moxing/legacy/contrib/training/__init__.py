"""`tf.contrib.training`: hyper-parameters, buckets, and placement on parameter servers."""
