"""The names of a checkpoint's files, and what can be read from these names."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from typing import Final

INDEX = ".index"
META = ".meta"
MANIFEST = ".manifest.json"
INPUT = ".input"  # The place in the input; see data.position.
POINTER = "checkpoint"
BEST: Final = "best"  # The folder of the best checkpoints, in the folder of all others.
STAGE = ".mox-tmp-"  # A hidden directory in which a checkpoint is written before its commit.

_DATA = re.compile(r"\.data-\d{5}-of-(\d{5})")
_MEMBER = re.compile(r"(\.index|\.meta|\.manifest\.json|\.input|\.data-\d{5}-of-\d{5})$")
# A sharded checkpoint of TensorFlow's V1 format is named by a pattern of its files.
_SHARD = re.compile(r"-(\?{5}|\d{5})-of-(\d{5})$")
_NUMBERED = re.compile(r"-(\d+)$")


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint on disk.

    Attributes:
        prefix: the common beginning of its files' paths, such as `/x/model.ckpt-50`; the path of
            the file itself if the checkpoint is a single file of TensorFlow's V1 format, and the
        pattern of the files, such as `/x/model.ckpt-50-?????-of-00002`, if it has several.
        step: the global step in its name; None if the name has none.
        resume: whether the checkpoint is the run's own, found in its log_dir. If so, all variables
            are restored.
    """

    prefix: str
    step: int | None
    resume: bool = False


def is_member(name: str) -> bool:
    """Whether a file of that name belongs to a checkpoint."""
    return _MEMBER.search(name) is not None


def step_of(prefix: str) -> int | None:
    """The number at the end of `model.ckpt-50`, or of `model.ckpt-50-?????-of-00002`."""
    found = _NUMBERED.search(_SHARD.sub("", os.path.basename(prefix)))
    return int(found[1]) if found else None


def prefix_of(path: str) -> str:
    """The checkpoint prefix of a file's path: `.index`, `.meta` and so on are cut off."""
    prefix = _MEMBER.sub("", path)
    shard = _SHARD.search(prefix)
    if shard is not None and is_single_file(prefix):
        return f"{prefix[: shard.start()]}-?????-of-{shard[2]}"
    return prefix


def present(prefix: str) -> bool:
    """Whether a checkpoint with this prefix exists, in either format, complete or damaged."""
    return os.path.isfile(prefix + INDEX) or is_v1(prefix)


def is_single_file(prefix: str) -> bool:
    """Whether the prefix is itself a file, as in TensorFlow's V1 format."""
    return os.path.isfile(prefix) and not os.path.isfile(prefix + INDEX)


def is_v1(prefix: str) -> bool:
    """Whether the prefix is a checkpoint of TensorFlow's V1 format: a file, or all its shards."""
    shard = _SHARD.search(prefix)
    if shard is None or "?" not in shard[1]:
        return is_single_file(prefix)
    start, count = prefix[: shard.start()], int(shard[2])
    numbers = range(count)
    return count > 0 and all(
        os.path.isfile(f"{start}-{number:05d}-of-{count:05d}") for number in numbers
    )


def data_suffixes(prefix: str) -> list[str]:
    """The suffixes of the data files that exist, such as `.data-00000-of-00001`, in order."""
    paths = glob.glob(glob.escape(prefix) + ".data-*")
    return sorted(path[len(prefix) :] for path in paths if _DATA.fullmatch(path[len(prefix) :]))


def missing_data(prefix: str) -> str | None:
    """The suffix of the first data file that should exist and does not."""
    there = data_suffixes(prefix)
    if not there:
        return ".data-00000-of-00001"
    count = max(int(suffix[-5:]) for suffix in there)
    for number in range(count):
        wanted = f".data-{number:05d}-of-{count:05d}"
        if wanted not in there:
            return wanted
    return None


def without_index(directory: str) -> list[str]:
    """The prefixes of data files in a directory whose `.index` file is not there, in order."""
    found = {
        os.path.join(directory, prefix_of(name))
        for name in os.listdir(directory)
        if _DATA.search(name) and is_member(name) and not name.startswith(".")
    }
    return sorted(prefix for prefix in found if not os.path.isfile(prefix + INDEX))


def indexed_prefixes(directory: str) -> list[str]:
    """The prefixes of the `.index` files in a directory, the highest step first, unnumbered last.

    An unnumbered prefix without data files is left out: other programs also write `*.index` files.
    """
    prefixes = [
        os.path.join(directory, name[: -len(INDEX)])
        for name in os.listdir(directory)
        if name == INDEX or (name.endswith(INDEX) and not name.startswith("."))
    ]
    steps = {prefix: step_of(prefix) for prefix in prefixes}
    kept = [prefix for prefix in prefixes if steps[prefix] is not None or data_suffixes(prefix)]
    return sorted(
        kept,
        key=lambda prefix: (-1 if steps[prefix] is None else steps[prefix], prefix),
        reverse=True,
    )
