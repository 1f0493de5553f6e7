"""openmox: write `input_fn`, `model_fn` and `optimizer_fn` once; flags decide where it runs.

Importing this package never imports TensorFlow. The first dialect is `moxing.tensorflow`; `file`
reads and writes local files and object storage alike.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """Runs at `%load_ext moxing`: the notebook's cells then see TensorFlow 1.x, as under `mox run`.

    Args:
        shell: the shell of IPython.

    Raises:
        MoxRuntimeError: TensorFlow was imported before.
    """
    importlib.import_module("moxing.legacy.program.notebook").load(shell)


def __getattr__(name: str) -> Any:
    if name == "file":
        # Not an import statement: the package is the lowest layer, and must import none of its
        # parts.
        globals()["file"] = importlib.import_module("moxing.framework.file")
        return globals()["file"]
    raise AttributeError(f"module 'moxing' has no attribute {name!r}")
