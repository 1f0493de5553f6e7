"""Picks the directory of an export, and refuses one that could not be written after training."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from moxing.errors import ExportExistsError, MoxValueError
from moxing.logs import TENSORFLOW

_LONGEST_NAME = 200  # Bytes; file systems take 255, and the temporary name is longer.
_NAMES_OF_TRAINING = ("checkpoint", "model.ckpt", "events.out.tfevents", "graph.pbtxt")


def target(log_dir: str, version: int | str) -> str:
    """The directory for an export of this version, which does not exist yet.

    Args:
        log_dir: directory of the run.
        version: -1 for the largest number there plus one (the first is 1), a number, or a name.

    Raises:
        ExportExistsError: the path exists already, even if it is an empty directory.
        MoxValueError: `version` can't be the name of a directory inside `log_dir`.
    """
    name = _checked_name(log_dir, version)
    directory = os.path.join(log_dir, name)
    refuse_existing(directory)
    if not name.isascii() or not name.isdigit():
        TENSORFLOW.info(
            "The model will be exported to %s. TensorFlow Serving only finds directories named by"
            " a number: pass version=-1, or an int, where it has to.",
            directory,
        )
    return directory


def refuse_existing(directory: str) -> None:
    """Raises `ExportExistsError` if the path exists."""
    if os.path.lexists(directory):
        raise ExportExistsError(
            "Export directory already exists. Please specify a different export directory: "
            f"{directory}"
        )


def _checked_name(log_dir: str, version: Any) -> str:
    if isinstance(version, int | np.integer) and not isinstance(version, bool):
        if version >= 0:
            return str(int(version))
        if version == -1:
            return str(_next_number(log_dir))
    elif isinstance(version, str) and _is_plain_name(version):
        if version.startswith(_NAMES_OF_TRAINING):
            raise MoxValueError(
                f"Export version {version!r} is the name of a file that training itself writes into"
                f" {log_dir}. Choose another name, a number, or -1."
            )
        return version
    raise MoxValueError(
        f"Export version {version!r} can't be the name of a directory in {log_dir}. Use -1 for the"
        " next number, an int from 0 on, or a name without '/'."
    )


def _is_plain_name(name: str) -> bool:
    plain = name == name.strip() and name.isprintable() and not name.startswith(".")
    return plain and "/" not in name and os.sep not in name and 0 < _length(name) <= _LONGEST_NAME


def _length(name: str) -> int:
    return len(name.encode("utf-8", "surrogatepass"))


def _next_number(log_dir: str) -> int:
    names = os.listdir(log_dir) if os.path.isdir(log_dir) else []
    return max((int(name) for name in names if name.isascii() and name.isdigit()), default=0) + 1
