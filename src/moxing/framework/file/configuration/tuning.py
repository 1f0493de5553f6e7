"""Sizes and numbers that decide how large files are moved."""

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
# Rules of the S3 protocol: bounds of a part, and the number of parts of one object.
LEAST_PART = 5 * MIB
MOST_PART = 5 * GIB
MOST_PARTS = 10_000


@dataclass(frozen=True)
class Tuning:
    """How large files are moved.

    Attributes:
      part_size: bytes of one part of an upload, and the least of one range of a download
        (`MOX_FILE_LARGE_FILE_PART_SIZE`, 10 MiB). It grows where 10,000 parts would not do.
      split_above: a file larger than this is moved in parts side by side
        (`MOX_FILE_PARTIAL_MAXIMUM_SIZE`, at most 5 GiB). The default is 16 MiB: a part that fails
        is cheaper to repeat than a file, and parts are faster.
      tasks: parts of one file under way at once when that file is copied alone
        (`MOX_FILE_LARGE_FILE_TASK_NUM`, 32).
      processes: processes that one `copy_parallel` may start
        (`MOX_FILE_NUMBER_OF_PROCESSES`; by default one for each core).
    """

    part_size: int = 10 * MIB
    split_above: int = 16 * MIB
    tasks: int = 32
    processes: int = 1

    @property
    def upload_above(self) -> int:
        """As `split_above`, but bounded, as what is sent in one request is held in memory."""
        return min(self.split_above, 64 * MIB)


def current() -> Tuning:
    """The values of this moment: those set on `file_io` win over the environment.

    Raises:
      MoxValueError: an environment variable has a value that can't be used.
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
    """Where files wait on the local disk until they are uploaded.

    `MOX_FILE_CACHE_DIR`, `DLS_LOCAL_CACHE_PATH`, or the system's directory for temporary files.

    Raises:
      MoxValueError: the first of these that is set names a URL.
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
    """The value that a script assigned to `file_io.<name>`, a documented cure for slow links."""
    module = sys.modules.get("moxing.framework.file.file_io")
    found = getattr(module, name, None)
    return value if found is None else found
