"""Makes programs written for TensorFlow 1.x run: the v1 face, contrib, examples and flags."""
