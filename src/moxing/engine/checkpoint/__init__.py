"""Checkpoints in TensorFlow's own format: save, commit, verify, find, filter and restore.

What lists and names checkpoints is imported without TensorFlow, so this file imports nothing.
"""
