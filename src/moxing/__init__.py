"""openmox: write `input_fn`, `model_fn` and `optimizer_fn` once; flags decide where it runs.

Importing this package never imports TensorFlow. The first dialect is `moxing.tensorflow`; `file`
reads and writes local files and object storage alike.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "file":
        # Not an import statement: this package is below its parts, and imports none of them.
        globals()["file"] = importlib.import_module("moxing.framework.file")
        return globals()["file"]
    raise AttributeError(f"module 'moxing' has no attribute {name!r}")
