"""Lets plain `python` run programs of TensorFlow 1.x, which are recognized by their text."""
