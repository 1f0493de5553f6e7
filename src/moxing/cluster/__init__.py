"""Processes that train together: their addresses, how they meet, and whether they still live.

Nothing here imports TensorFlow but `serve.py`, when it starts TensorFlow's server.
"""
