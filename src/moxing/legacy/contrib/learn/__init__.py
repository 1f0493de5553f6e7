"""`tf.contrib.learn`: Estimators, experiments and input functions, on openmox's Estimators."""
