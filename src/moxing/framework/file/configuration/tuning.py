"""The sizes and numbers that determine how large files are transferred."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from moxing.errors import MoxValueError
from moxing.framework.file.configuration import environment
from moxing.framework.file.urls import is_remote

MIB = 1 << 20
GIB = 1 << 30
# Limits of the S3 protocol: the size of a part, and the number of parts in an object.
LEAST_PART = 5 * MIB
MOST_PART = 5 * GIB
MOST_PARTS = 10_000


@dataclass(frozen=True)
class Tuning:
    """The settings of transfers of large files.

    Attributes:
      part_size: the bytes in a part of an upload, and the minimum bytes in a range of a download
        (`MOX_FILE_LARGE_FILE_PART_SIZE`, 10 MiB). It grows if 10,000 parts would not be enough.
      split_above: a file larger than this is transferred in parallel parts
        (`MOX_FILE_PARTIAL_MAXIMUM_SIZE`, at most 5 GiB). The default is 16 MiB, because parts are
        faster, and a failed part is cheaper to repeat than a whole file.
      tasks: the number of parallel parts of a file that is copied alone
        (`MOX_FILE_LARGE_FILE_TASK_NUM`, 32).
      processes: the maximum number of processes of one `copy_parallel`
        (`MOX_FILE_NUMBER_OF_PROCESSES`; by default one per core).
    """

    part_size: int = 10 * MIB
    split_above: int = 16 * MIB
    tasks: int = 32
    processes: int = 1

    @property
    def upload_above(self) -> int:
        """The limit `split_above` for uploads, bounded because a request is held in memory."""
        return min(self.split_above, 64 * MIB)


def current() -> Tuning:
    """Returns the current values; values assigned on `file_io` override the environment.

    Raises:
      MoxValueError: the value of an environment variable is invalid.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    part = environment.integer("MOX_FILE_LARGE_FILE_PART_SIZE", Tuning.part_size, 1)
    split = environment.integer("MOX_FILE_PARTIAL_MAXIMUM_SIZE", Tuning.split_above, 1)
    tasks = environment.integer("MOX_FILE_LARGE_FILE_TASK_NUM", Tuning.tasks, 1)
    processes = environment.integer("MOX_FILE_NUMBER_OF_PROCESSES", cores or 1, 1)
    return Tuning(
        part_size=min(max(int(_override("_LARGE_FILE_PART_SIZE", part)), LEAST_PART), MOST_PART),
        split_above=min(int(_override("_PARTIAL_MAXIMUM_SIZE", split)), MOST_PART),
        tasks=max(1, int(_override("_LARGE_FILE_TASK_NUM", tasks))),
        processes=max(1, int(_override("_NUMBER_OF_PROCESSES", processes))),
    )


def staging_dir() -> str:
    """Returns the local directory in which files wait for their upload.

    `MOX_FILE_CACHE_DIR`, `DLS_LOCAL_CACHE_PATH`, or the system's directory for temporary files.

    Raises:
      MoxValueError: the environment variable is a URL.
    """
    named = environment.first("MOX_FILE_CACHE_DIR", "DLS_LOCAL_CACHE_PATH")
    if named is None:
        return tempfile.gettempdir()
    if is_remote(named):
        raise MoxValueError(
            f"MOX_FILE_CACHE_DIR, or DLS_LOCAL_CACHE_PATH, is {named}: files wait there on the way"
            " to a store, so it must be a folder of this machine"
        )
    os.makedirs(named, exist_ok=True)
    return named


def _override(name: str, value: int) -> Any:
    """Returns the value that a script assigned to `file_io.<name>`, or else `value`."""
    module = sys.modules.get("moxing.framework.file.file_io")
    found = getattr(module, name, None)
    return value if found is None else found
