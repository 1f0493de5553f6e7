"""Where am I: one module a platform, each with one function `read`.

`read(environ)` (for the flags, `read(given, argv0)`) returns the `Cluster` that the platform
describes, or None where it describes none, and raises `MoxValueError` for a description that can't
be. `source` in the result names where it was read.
"""
