"""Tells whether a path exists, its kind and its size."""

from __future__ import annotations

import os
import stat as modes
from dataclasses import dataclass

from moxing.framework.file.errors import MoxFileNotExistsException
from moxing.framework.file.store.protocol import Info, Store
from moxing.framework.file.store.serving import store_for
from moxing.framework.file.urls import Location, PathLike, is_remote, parse, text


@dataclass(frozen=True)
class FileStat:
    """The status of a file or directory.

    Attributes:
      length: the size in bytes; 0 for a directory.
      mtime_nsec: the time of the last change in nanoseconds since 1970; 0 if the store has none.
      is_directory: whether the path is a directory.
    """

    length: int
    mtime_nsec: int
    is_directory: bool

    @property
    def st_size(self) -> int:
        """The name of `length` in `os.stat`."""
        return self.length

    @property
    def st_mtime(self) -> float:
        """The time of the last change in seconds."""
        return self.mtime_nsec / 1e9

    @property
    def st_mtime_ns(self) -> int:
        """The name of `mtime_nsec` in `os.stat`."""
        return self.mtime_nsec

    @property
    def st_mode(self) -> int:
        """The kind and default permission bits."""
        return modes.S_IFDIR | 0o755 if self.is_directory else modes.S_IFREG | 0o644

    def as_os_stat(self) -> os.stat_result:
        """Converts the status to the result of `os.stat`."""
        seconds = self.mtime_nsec // 1_000_000_000
        whole = (self.st_mode, 0, 0, 1, os.getuid(), os.getgid(), self.length) + (seconds,) * 3
        exact = (self.st_mtime,) * 3 + (self.mtime_nsec,) * 3
        return os.stat_result(whole + exact)


def exists(url: PathLike) -> bool:
    """Whether the file or directory `url` exists; a broken link does not count."""
    if not is_remote(url):
        return os.path.exists(text(url))
    return find(parse(url)) is not None


def is_directory(url: PathLike) -> bool:
    """Whether `url` is a directory. In a store, a directory is a prefix of any object's name."""
    if not is_remote(url):
        return os.path.isdir(text(url))
    where = parse(url)
    return store_for(where).is_directory(where)


def is_file(url: PathLike) -> bool:
    """Whether `url` is a file."""
    if not is_remote(url):
        return os.path.isfile(text(url))
    where = parse(url)
    return not where.names_directory and store_for(where).head(where) is not None


def stat(url: PathLike) -> FileStat:
    """Returns the size, the time of the last change, and the kind of `url`.

    Raises:
      MoxFileNotExistsException: there is no such file or directory.
    """
    if not is_remote(url):
        path = text(url)
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            raise missing(path) from None
        directory = modes.S_ISDIR(found.st_mode)
        return FileStat(0 if directory else found.st_size, found.st_mtime_ns, directory)
    info = need(parse(url))
    return FileStat(info.size, info.mtime_ns, info.is_directory)


def get_size(url: PathLike, recursive: bool = False) -> int:
    """Returns the size of a file in bytes; 0 for a directory.

    With `recursive`, the size of a directory is the sum over all files below it.

    Raises:
      MoxFileNotExistsException: there is no such file or directory.
    """
    found = stat(url)
    if not found.is_directory or not recursive:
        return found.length
    if is_remote(url):
        where = parse(url)
        return sum(info.size for info in store_for(where).list(where, deep=True))
    total = 0
    for root, _, files in os.walk(text(url)):
        for name in files:
            path = os.path.join(root, name)
            total += os.stat(path).st_size if os.path.exists(path) else 0
    return total


def find(where: Location, store: Store | None = None) -> Info | None:
    """Returns the file or directory `where`, or None; a file takes precedence over a directory."""
    store = store or store_for(where)
    if not where.names_directory:
        info = store.head(where)
        if info is not None:
            return info
    return Info(where.prefix or "/") if store.is_directory(where) else None


def need(where: Location, store: Store | None = None) -> Info:
    """Returns the file or directory `where`; see `find`.

    Raises:
      MoxFileNotExistsException: there is no such file or directory.
    """
    info = find(where, store)
    if info is None:
        raise missing(str(where))
    return info


def missing(path: str) -> MoxFileNotExistsException:
    """Returns the error for a missing path, with the path and the folder of the search."""
    message = f"{path!r} does not exist"
    if not path:
        message = "the path is empty; the flag or variable that holds it was left empty"
    elif is_remote(path):
        message += " (NoSuchKey, stat:404)"
    elif not os.path.isabs(path):
        message += f" (looked for it in {os.getcwd()})"
        if path.startswith("FLAGS."):
            message += "; it looks like a flag in quotes: write it without them"
    return MoxFileNotExistsException(message, url=path)
