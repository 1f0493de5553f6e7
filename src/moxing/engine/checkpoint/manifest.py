"""The manifest of a checkpoint. It is written last, and writing it commits the checkpoint."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moxing.engine.checkpoint import durable
from moxing.engine.checkpoint.names import INPUT, MANIFEST, Checkpoint
from moxing.logs import TENSORFLOW

FORMAT = 1


@dataclass(frozen=True)
class FileRecord:
    """The size in bytes of one file, and its `durable.digest`."""

    bytes: int
    digest: str


@dataclass(frozen=True)
class Manifest:
    """The contents of a committed checkpoint.

    Attributes:
        step: global step of the checkpoint.
        serial: number of this commit in its directory. A step may go back, when a user returns to
            an older checkpoint, and so may a clock; the serial number never does.
        files: size and digest of each file, by the suffix of its name, such as `.index`.
        variables: names of the variables in the checkpoint.
        extra: values that a resumed run gets back.
    """

    step: int
    serial: int
    files: Mapping[str, FileRecord]
    variables: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


def encode(manifest: Manifest) -> bytes:
    """The manifest as JSON with a checksum of its own.

    Raises:
        TypeError: `extra` holds a value that JSON can't represent.
    """
    body = {
        "format": FORMAT,
        "step": manifest.step,
        "serial": manifest.serial,
        "files": {
            suffix: {"bytes": record.bytes, "digest": record.digest}
            for suffix, record in manifest.files.items()
        },
        "variables": list(manifest.variables),
        "extra": dict(manifest.extra),
    }
    return (json.dumps({"checksum": _checksum(body), "body": body}, indent=1) + "\n").encode()


def read(prefix: str) -> Manifest | None:
    """The manifest of a checkpoint; None where there is none that this version can read."""
    try:
        if not os.path.isfile(prefix + MANIFEST):  # Opening a pipe would wait for a writer.
            return None
        with open(prefix + MANIFEST, "rb") as file:
            return _decode(file.read())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def manifests(directory: str) -> list[tuple[str, Manifest]]:
    """Prefix and manifest of every checkpoint with a readable manifest; last commit first."""
    found = []
    for name in os.listdir(directory):
        if name.endswith(MANIFEST) and not name.startswith("."):
            prefix = os.path.join(directory, name[: -len(MANIFEST)])
            if (manifest := read(prefix)) is not None:
                found.append((prefix, manifest))
    return sorted(found, key=lambda item: (item[1].serial, item[1].step), reverse=True)


def read_extra(checkpoint: Checkpoint) -> dict[str, Any]:
    """Returns the values that `Saver.save` stored for a resumed run.

    They are empty if another program wrote the checkpoint.
    """
    manifest = read(checkpoint.prefix)
    if manifest is not None:
        return dict(manifest.extra)
    if os.path.exists(checkpoint.prefix + MANIFEST):
        TENSORFLOW.warning(
            "%s%s is damaged: the variables are restored, the position in the input is not.",
            checkpoint.prefix,
            MANIFEST,
        )
    return {}


def read_input(checkpoint: Checkpoint) -> bytes | None:
    """The content of the file with the place in the input; None where the commit has none.

    A warning names a file that is damaged.
    """
    manifest = read(checkpoint.prefix)
    if manifest is None or INPUT not in manifest.files:
        return None
    path, record = checkpoint.prefix + INPUT, manifest.files[INPUT]
    try:
        with open(path, "rb") as file:
            content = file.read(record.bytes + 1)
        if len(content) == record.bytes and durable.digest(path) == record.digest:
            return content
        reason = "it is damaged, or of another checkpoint"
    except OSError as error:
        reason = error.strerror
    TENSORFLOW.warning("The place in the input can't be read from %s: %s.", path, reason)
    return None


def _decode(content: bytes) -> Manifest | None:
    whole = json.loads(content)
    body = whole["body"]
    if body["format"] != FORMAT or whole["checksum"] != _checksum(body):
        return None
    return Manifest(
        step=body["step"],
        serial=body["serial"],
        files={suffix: FileRecord(**record) for suffix, record in body["files"].items()},
        variables=tuple(body["variables"]),
        extra=body["extra"],
    )


def _checksum(body: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(body, sort_keys=True).encode()):08x}"
