"""Checkpoints in TensorFlow's own format: save, commit, verify, find, filter and restore.

This file imports nothing, so that the modules that list and name checkpoints can be imported
without TensorFlow.
"""
