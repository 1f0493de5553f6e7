"""A Keras model in the graph of a run: its step traced, its variables and optimizer imported."""
