"""Walks and rewrites TensorFlow graphs, and makes choices that depend on a graph's structure."""

from moxing.engine.graph import generated

generated.install()
