"""Reads the cluster from a platform's environment: one module and function `read` for each.

`read(environ)` (for the flags, `read(given, argv0)`) returns the `Cluster` that the platform
describes, or None if it describes none, and raises `MoxValueError` for an impossible description.
`source` in the result says where the description was read.
"""
