"""Builds a Keras model, with its training step and optimizer, into the graph of a run."""
