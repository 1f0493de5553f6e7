"""Processes that train together: where they are, who they are, and whether they still live.

Nothing here imports TensorFlow but `serve.py`, when it starts TensorFlow's server.
"""
