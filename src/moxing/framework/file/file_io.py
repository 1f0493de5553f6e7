"""The functions of `mox.file` under the module name that old scripts import.

The names that begin with an underscore are documented remedies for slow or fragile links: a script
may assign a number to them, and the next copy uses it. None means the environment variable of that
name, or its default.
"""

from __future__ import annotations

from moxing.framework.file.background import background_sync_copy
from moxing.framework.file.changes import copy, make_dirs, mk_dir, remove, rename
from moxing.framework.file.configuration.settings import set_auth
from moxing.framework.file.content import append, append_remote, read, write
from moxing.framework.file.copying.trees import copy_parallel
from moxing.framework.file.errors import (
    MoxFileNameDuplicateException,
    MoxFileNotExistsException,
    MoxFileReadException,
    MoxFileRespException,
    _MoxFileBaseRespException,
)
from moxing.framework.file.handle import File
from moxing.framework.file.listing import glob, list_directory, scan_dir, walk
from moxing.framework.file.shifting import shift
from moxing.framework.file.status import exists, get_size, is_directory, stat

# Scripts may choose between two methods to move large files; here, there is only this one.
_LARGE_FILE_METHOD: int = 2
_LARGE_FILE_PART_SIZE: int | None = None
_LARGE_FILE_TASK_NUM: int | None = None
_PARTIAL_MAXIMUM_SIZE: int | None = None
_NUMBER_OF_PROCESSES: int | None = None

__all__ = [
    "File",
    "MoxFileNameDuplicateException",
    "MoxFileNotExistsException",
    "MoxFileReadException",
    "MoxFileRespException",
    "_MoxFileBaseRespException",
    "append",
    "append_remote",
    "background_sync_copy",
    "copy",
    "copy_parallel",
    "exists",
    "get_size",
    "glob",
    "is_directory",
    "list_directory",
    "make_dirs",
    "mk_dir",
    "read",
    "remove",
    "rename",
    "scan_dir",
    "set_auth",
    "shift",
    "stat",
    "walk",
    "write",
]
