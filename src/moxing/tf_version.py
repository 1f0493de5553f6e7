"""Raises an error early if the installed TensorFlow is not the version that openmox needs."""

from __future__ import annotations

import importlib.metadata
import importlib.util

import moxing
from moxing.errors import MoxImportError

NEEDED = ">=2.21,<2.22"
# The same importable package is published under several names.
DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tensorflow-rocm", "intel-tensorflow")


def check() -> None:
    """Checks the TensorFlow that `import tensorflow` would find, without importing it.

    Raises:
        MoxImportError: TensorFlow is missing, or its version is outside `NEEDED`.
    """
    found = {name: version for name in DISTRIBUTIONS if (version := _version(name)) is not None}
    if any(_fits(version) for version in found.values()):
        return
    for name, version in found.items():
        raise MoxImportError(
            f"found {name} {version}, but openmox {moxing.__version__} needs tensorflow{NEEDED}."
            f" Install it with: pip install '{name}{NEEDED}'"
        )
    if importlib.util.find_spec("tensorflow") is None:
        raise MoxImportError(
            f"TensorFlow is not installed; openmox {moxing.__version__} needs tensorflow{NEEDED}."
            f" Install it with: pip install 'tensorflow{NEEDED}'"
        )
    # A TensorFlow without package metadata was built by its user, so its version is not checked.


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _fits(version: str) -> bool:
    # NEEDED names one minor version, so that no parser of version specifiers is needed.
    return version.split(".")[:2] == ["2", "21"]
