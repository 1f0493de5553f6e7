"""Runs whose `log_dir` is in an object store: a local directory stands for it meanwhile.

This file imports nothing, so that the module that lists a store can be imported without TensorFlow.
"""
