"""Checks the needs of one process: versions, devices, room on the disk."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import moxing
from moxing import tf_version
from moxing.doctor import store
from moxing.doctor.finding import BAD, GOOD, NOTE, Finding
from moxing.errors import MoxImportError

_IMPORT_SECONDS = 120.0
_LITTLE = 2 * 1024**3
_LOOK = (
    "import json, tensorflow as tf; print(json.dumps([tf.__version__,"
    " len(tf.config.list_physical_devices('GPU'))]))"
)


def findings(directory: str) -> Iterator[Finding]:
    """Looks at this machine.

    Args:
        directory: the program's output directory: a folder, or a URL of an object store.
    """
    yield Finding(GOOD, "openmox", f"{moxing.__version__}, Python {platform.python_version()}")
    yield from _tensorflow()
    yield _keras()
    if "://" in directory:
        yield store.finding(directory)
    else:
        yield from _disk(Path(directory))


def _tensorflow() -> Iterator[Finding]:
    try:
        tf_version.check()
    except MoxImportError as error:
        yield Finding(BAD, "TensorFlow", str(error))
        return
    # This runs in a process of its own, because a broken driver may crash the process or hang.
    command = [sys.executable, "-c", _LOOK]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_IMPORT_SECONDS)
    except subprocess.TimeoutExpired:
        text = f"import tensorflow does not end within {_IMPORT_SECONDS:.0f} s"
        yield Finding(BAD, "TensorFlow", text)
        return
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        yield Finding(BAD, "TensorFlow", f"import tensorflow fails: {lines[-1]}")
        return
    version, gpus = json.loads(done.stdout.splitlines()[-1])
    yield Finding(GOOD, "TensorFlow", version)
    shown = f"{gpus} GPUs" if gpus else f"no GPU; {os.cpu_count()} CPU cores"
    yield Finding(GOOD if gpus else NOTE, "devices", shown)


def _keras() -> Finding:
    try:
        return Finding(GOOD, "tf_keras", importlib.metadata.version("tf_keras"))
    except importlib.metadata.PackageNotFoundError:
        text = "not installed, which tf.layers and Keras models need: pip install tf_keras"
        return Finding(BAD, "tf_keras", text)


def _disk(directory: Path) -> Iterator[Finding]:
    what = f"directory {directory}"
    parents = (directory, *directory.absolute().parents)
    place = next(p for p in parents if os.path.isdir(p))  # Path.is_dir fails on long names.
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        yield Finding(BAD, what, f"nothing can be written there: {error.strerror}")
        return
    free = shutil.disk_usage(place).free
    shown = f"{free / 1024**3:.1f} GB free"
    if not os.path.isdir(directory):
        shown = f"is not there yet, a run makes it; {shown}"
    if free < _LITTLE:
        yield Finding(NOTE, what, f"{shown}; a save needs room for two checkpoints")
    else:
        yield Finding(GOOD, what, shown)
