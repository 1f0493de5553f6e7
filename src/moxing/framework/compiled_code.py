"""Keeps the code that XLA compiles for GPUs in a folder of this user, so that later runs load it.

TensorFlow writes and reads the files, if TF_XLA_FLAGS names a folder. It compares the program of
XLA, but not the GPU nor its own version, and code of another GPU would fail; so each of them has a
folder. A file that a crash has cut off would end every later run: it is removed here.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
import tempfile
import time
from typing import Final

from moxing.errors import MoxError
from moxing.framework import private
from moxing.logs import TENSORFLOW

VARIABLE: Final = "MOX_XLA_CACHE_DIR"
FLAGS: Final = "TF_XLA_FLAGS"
# TensorFlow compares the device where it compiles itself, and the kind of code where a plugin does.
_CODE_FOR: Final = "GPU,XLA_GPU_JIT"
_DRIVER: Final = "/proc/driver/nvidia"
# The settings of TensorFlow by which a user keeps code in another way, or compiles none.
_OWN: Final = ("persistent_cache", "auto_jit=-1")
_MOST: Final = 4 << 30  # Bytes of files; the ones that were not used for longest are removed.
_ROOM: Final = 2 << 30  # Bytes free on the disk: a step fails if its code can't be written.
_CODE: Final = 3  # The number of the field with the code, which is the last.
_ABANDONED: Final = 86_400.0  # Seconds after which no process writes a file any more.


def keep(version: str, driver: str = _DRIVER) -> None:
    """Names the folder to TensorFlow, by the environment, which it reads as it looks for devices.

    Does nothing without a GPU, or if the user has other wishes: `MOX_XLA_CACHE_DIR` is empty, or
    TF_XLA_FLAGS has settings of its own.

    Args:
        version: TensorFlow's version.
        driver: where the driver describes the GPUs.
    """
    given, place = os.environ.get(FLAGS, ""), os.environ.get(VARIABLE)
    gpus = described(driver)
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")
    if gpus is None or hidden or place == "" or any(text in given for text in _OWN):
        return
    parent = place or tempfile.gettempdir()
    try:
        folder = private.folder(parent, "moxing-xla", VARIABLE)
        tidy(folder)
        if shutil.disk_usage(folder).free < _ROOM:
            TENSORFLOW.info("%s is almost full: code that XLA compiles is not kept there.", parent)
            return
    except (MoxError, OSError) as error:
        TENSORFLOW.warning("Code that XLA compiles is not kept: %s", error)
        return
    kind = f"{version}\n{gpus}\n{os.environ.get('XLA_FLAGS', '')}"
    name = f"{version}-{hashlib.sha256(kind.encode()).hexdigest()[:16]}"
    os.environ[FLAGS] = flags(given, os.path.join(folder, name))


def flags(given: str, folder: str, code_for: str = _CODE_FOR) -> str:
    """The value of TF_XLA_FLAGS that keeps compiled code in a folder.

    Args:
        given: the value so far.
        folder: the folder.
        code_for: the devices and kinds of code whose files are kept, as TensorFlow names them.
    """
    added = {
        "tf_xla_persistent_cache_directory": folder,
        "tf_xla_persistent_cache_device_types": code_for,
        # The files are found by the names of clusters, among others.
        "tf_xla_deterministic_cluster_names": "true",
    }
    return " ".join([*given.split(), *(f"--{name}={value}" for name, value in added.items())])


def chosen_by_user() -> bool:
    """Whether TF_XLA_FLAGS says what XLA compiles; a session's options do not count then."""
    return _value("tf_xla_auto_jit") not in (None, "0")


def kept_in() -> str | None:
    """The folder of compiled code that TF_XLA_FLAGS names; None: it names none."""
    return _value("tf_xla_persistent_cache_directory") or None


def _value(wanted: str) -> str | None:
    for flag in os.environ.get(FLAGS, "").split():
        name, _, value = flag.partition("=")
        if name.lstrip("-") == wanted:
            return value
    return None


def described(driver: str = _DRIVER) -> str | None:
    """The driver's version and the models of the GPUs; None: the driver describes no GPU."""
    found = sorted(glob.glob(f"{glob.escape(driver)}/gpus/*/information"))
    models = []
    with contextlib.suppress(OSError):
        for path in found:
            with open(path, encoding="utf-8", errors="replace") as file:
                models += [line.strip() for line in file if line.startswith("Model:")]
        with open(f"{driver}/version", encoding="utf-8", errors="replace") as file:
            return "\n".join([file.readline().strip(), *models]) if models else None
    return None


def tidy(folder: str) -> None:
    """Removes files that are not complete, and the oldest ones if there are too many bytes."""
    kept: list[tuple[float, int, str]] = []
    for directory, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(directory, name)
            with contextlib.suppress(OSError):
                about = os.stat(path)
                if name.endswith(".pb") and is_whole(path):
                    kept.append((max(about.st_atime, about.st_mtime), about.st_size, path))
                elif name.endswith(".pb") or time.time() - about.st_mtime > _ABANDONED:
                    os.remove(path)
    total = 0
    for _, size, path in sorted(kept, reverse=True):
        total += size
        if total > _MOST:
            with contextlib.suppress(OSError):
                os.remove(path)


def is_whole(path: str) -> bool:
    """Whether a file of compiled code is complete: a Protocol Buffer of fields that have a length.

    Raises:
        OSError: the file can't be read.
    """
    size, last = os.path.getsize(path), 0
    with open(path, "rb") as file:
        while file.tell() < size:
            tag, length = _number(file.read(1)), 0
            for shift in range(0, 70, 7):
                byte = _number(file.read(1))
                length |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
            if tag & 7 != 2 or file.tell() + length > size:
                return False
            last = tag >> 3
            file.seek(length, os.SEEK_CUR)
    return last == _CODE


def _number(byte: bytes) -> int:
    return byte[0] if byte else 0
