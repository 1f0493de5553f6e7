"""Walks and rewrites of TensorFlow graphs, and what depends on a graph's shape."""
