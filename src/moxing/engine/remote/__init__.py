"""Runs whose `log_dir` is in an object store: a local directory stands for it meanwhile.

What lists a store is imported without TensorFlow, so this file imports nothing.
"""
