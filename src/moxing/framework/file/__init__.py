"""`mox.file`: one API for files on the local disk and in object stores (`s3://`, `obs://`).

This module imports quickly: the libraries for stores are imported when the first URL is used.
"""

from __future__ import annotations

from typing import NoReturn

from moxing.errors import MoxAttributeError, near_matches
from moxing.framework.file import hints as _hints
from moxing.framework.file import watch as _watch
from moxing.framework.file.background import background_sync_copy
from moxing.framework.file.changes import copy, make_dirs, mk_dir, remove, rename
from moxing.framework.file.configuration.settings import reset_auth, set_auth
from moxing.framework.file.content import append, append_remote, read, write
from moxing.framework.file.copying.trees import copy_files, copy_parallel
from moxing.framework.file.errors import (
    MoxFileConnectionException,
    MoxFileCopyException,
    MoxFileExistsException,
    MoxFileIsDirectoryException,
    MoxFileNameDuplicateException,
    MoxFileNotDirectoryException,
    MoxFileNotExistsException,
    MoxFilePermissionException,
    MoxFileReadException,
    MoxFileRespException,
)
from moxing.framework.file.handle import File
from moxing.framework.file.hints import hint
from moxing.framework.file.listing import glob, list_directory, scan_dir, walk
from moxing.framework.file.shifting import shift
from moxing.framework.file.status import FileStat, exists, get_size, is_directory, is_file, stat
from moxing.framework.file.urls import is_remote

__all__ = [
    "File",
    "FileStat",
    "MoxFileConnectionException",
    "MoxFileCopyException",
    "MoxFileExistsException",
    "MoxFileIsDirectoryException",
    "MoxFileNameDuplicateException",
    "MoxFileNotDirectoryException",
    "MoxFileNotExistsException",
    "MoxFilePermissionException",
    "MoxFileReadException",
    "MoxFileRespException",
    "append",
    "append_remote",
    "background_sync_copy",
    "copy",
    "copy_files",
    "copy_parallel",
    "exists",
    "get_size",
    "glob",
    "hint",
    "is_directory",
    "is_file",
    "is_remote",
    "list_directory",
    "make_dirs",
    "mk_dir",
    "read",
    "remove",
    "rename",
    "reset_auth",
    "scan_dir",
    "set_auth",
    "shift",
    "stat",
    "walk",
    "write",
]

# Add a hint to the error of `open('s3://...')`, which does not explain the cause.
_hints.install()
_watch.install()


def __getattr__(name: str) -> NoReturn:
    raise MoxAttributeError(
        f"mox.file has no attribute {name!r}.{near_matches(name, __all__)}", name=name
    )
