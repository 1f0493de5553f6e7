"""Tells whether a checkpoint is complete and undamaged."""

from __future__ import annotations

import os
import stat

from moxing.engine.checkpoint import durable, manifest
from moxing.engine.checkpoint.names import INDEX, INPUT, is_v1, missing_data
from moxing.errors import CheckpointError


def fault(prefix: str) -> str | None:
    """Says what is wrong with a checkpoint; None: it is complete and undamaged.

    A checkpoint that lacks only the file with the place in the input counts as complete: users who
    copy a checkpoint by hand may leave that file out. A checkpoint with a manifest is checked
    against the sizes and digests in it, each file read once and in pieces. Others are read by
    TensorFlow's reader, which checks the CRC of each tensor.
    """
    known = manifest.read(prefix)
    if known is not None:
        return _differs(prefix, known)
    if not is_v1(prefix):
        if not os.path.isfile(prefix + INDEX):
            return f"{_name(prefix)}{INDEX} is missing"
        if suffix := missing_data(prefix):
            return f"{_name(prefix)}{suffix} is missing"
    # Checkpoints with a manifest are verified without TensorFlow.
    from moxing.engine.checkpoint import reader

    try:
        count = reader.read_through(prefix)
    except CheckpointError as error:
        return "it" + str(error).removeprefix(f"Checkpoint {prefix}").rstrip(".")
    return None if count else "it holds no variables"


def _differs(prefix: str, known: manifest.Manifest) -> str | None:
    files = {suffix: record for suffix, record in known.files.items() if suffix != INPUT}
    # Check all sizes before any digest: most damage shows in a size, without reading the files.
    for suffix, record in sorted(files.items(), reverse=True):
        name = _name(prefix) + suffix
        try:
            entry = os.stat(prefix + suffix)
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as error:
            return f"{name} can't be read ({error.strerror})"
        if stat.S_ISDIR(entry.st_mode):
            return f"{name} is a directory"
        if entry.st_size != record.bytes:
            return f"{name} has {entry.st_size} bytes instead of {record.bytes}"
    for suffix, record in files.items():
        name = _name(prefix) + suffix
        try:
            found = durable.digest(prefix + suffix)
        except OSError as error:
            return f"{name} can't be read ({error.strerror})"
        if found != record.digest:
            return f"{name} is damaged ({found} instead of {record.digest})"
    return None


def _name(prefix: str) -> str:
    return os.path.basename(prefix)
