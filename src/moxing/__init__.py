"""openmox: write `input_fn`, `model_fn` and `optimizer_fn` once; flags decide where it runs.

Importing this package never imports TensorFlow. The first dialect is `moxing.tensorflow`; `file`
reads and writes local files and object storage alike.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext moxing` in a notebook: its cells see TensorFlow 1.x, as `mox run` shows it.

    Args:
        shell: IPython's.

    Raises:
        MoxRuntimeError: TensorFlow was imported before.
    """
    importlib.import_module("moxing.legacy.program.notebook").load(shell)


def __getattr__(name: str) -> Any:
    if name == "file":
        # Not an import statement: this package is below its parts, and imports none of them.
        globals()["file"] = importlib.import_module("moxing.framework.file")
        return globals()["file"]
    raise AttributeError(f"module 'moxing' has no attribute {name!r}")
