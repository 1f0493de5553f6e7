"""Lists directories: names, entries, walks and patterns."""

from __future__ import annotations

import glob as local_glob
import os
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from moxing.framework import atomic
from moxing.framework.file import disk, status
from moxing.framework.file.errors import MoxFileNotDirectoryException
from moxing.framework.file.store import patterns
from moxing.framework.file.store.entries import RemoteEntry, RemoteScan, reachable, tree
from moxing.framework.file.store.protocol import Store
from moxing.framework.file.store.serving import store_for
from moxing.framework.file.urls import Location, PathLike, is_remote, parse, text

Walk = Iterator[tuple[str, list[str], list[str]]]


def list_directory(
    url: PathLike,
    recursive: bool = False,
    skip_file: bool = False,
    skip_dir: bool = False,
    remove_sep: bool = True,
) -> list[str]:
    """Returns the sorted names of the entries of a directory, relative to it.

    Args:
      url: a local path or URL.
      recursive: whether to list the entries of subdirectories, too.
      skip_file: whether to leave out files.
      skip_dir: whether to leave out directories.
      remove_sep: whether to remove the trailing slash from names of a store's directories.

    Raises:
      MoxFileNotExistsException: there is no such directory.
      MoxFileNotDirectoryException: `url` is a file.
    """
    if not is_remote(url):
        return sorted(_local_names(_need_local(text(url)), "", recursive, skip_file, skip_dir))
    where = parse(url)
    store = store_for(where)
    start = len(where.prefix)
    found = tree(store, where) if recursive else store.list(where, deep=False)
    names = [
        info.key[start:].rstrip("/") if remove_sep else info.key[start:]
        for info in reachable(found, where)
        if not (skip_dir if info.is_directory else skip_file)
    ]
    if not names:
        _need_remote(store, where)
    names.sort()
    return names


class Scan(Protocol):
    """The interface of the result of `os.scandir`, an iterator that is also a context manager."""

    def __iter__(self) -> Iterator[Any]: ...

    def __enter__(self) -> Iterator[Any]: ...

    def __exit__(self, *error: Any) -> None: ...

    def close(self) -> None: ...


def scan_dir(url: PathLike) -> Scan:
    """Returns an iterator over the entries of a directory, like `os.scandir`.

    Raises:
      MoxFileNotExistsException: there is no such directory.
      MoxFileNotDirectoryException: `url` is a file.
    """
    if not is_remote(url):
        return os.scandir(_need_local(text(url)))
    where = parse(url)
    store = store_for(where)
    _need_remote(store, where)
    return RemoteScan(store, where)


def walk(
    url: PathLike,
    topdown: bool = True,
    onerror: Callable[[OSError], object] | None = None,
    followlinks: bool = False,
) -> Walk:
    """Walks the directory tree below `url`, like `os.walk`.

    Args:
      url: a local path or URL.
      topdown: whether a directory comes before its entries. If so, the walk does not enter
        directories that the caller removes from the list of names.
      onerror: called with the error of a directory that can't be listed; None: such directories
        are skipped silently.
      followlinks: whether links to local directories are followed.
    """
    if not is_remote(url):
        return os.walk(text(url), topdown, onerror, followlinks)
    return _walk(store_for(parse(url)), text(url), topdown, onerror)


def glob(url: PathLike, recursive: bool = False) -> list[str]:
    """Returns the sorted absolute paths or URLs that match a pattern of `*`, `?` and `[...]`.

    Args:
      url: the pattern. Wildcards do not match a slash, or the leading dot of a hidden name.
      recursive: whether `**` matches any number of directories.
    """
    if is_remote(url):
        where = parse(url)
        return sorted(patterns.match(store_for(where), where, recursive))
    # `abspath` would remove the trailing slash, which selects directories only.
    pattern = os.path.join(os.getcwd(), text(url))
    return sorted(local_glob.glob(pattern, recursive=recursive))


def _local_names(
    path: str, start: str, recursive: bool, skip_file: bool, skip_dir: bool
) -> Iterator[str]:
    with os.scandir(path) as entries:
        for entry in entries:
            if atomic.is_unfinished(entry.name):
                continue
            directory = disk.is_directory(entry)
            if not (skip_dir if directory else skip_file):
                yield start + entry.name
            if recursive and directory and not entry.is_symlink():
                below = f"{start}{entry.name}/"
                yield from _local_names(entry.path, below, recursive, skip_file, skip_dir)


def _walk(
    store: Store, url: str, topdown: bool, onerror: Callable[[OSError], object] | None
) -> Walk:
    where = parse(url)
    folders: list[str] = []
    files: list[str] = []
    try:
        for info in reachable(store.list(where, deep=False), where):
            entry = RemoteEntry(info, where)
            (folders if info.is_directory else files).append(entry.name)
        if not folders and not files:
            _need_remote(store, where)
    except OSError as error:
        if onerror is not None:
            onerror(error)
        return
    if topdown:
        yield url, folders, files
    for name in folders:
        yield from _walk(store, os.path.join(url, name), topdown, onerror)
    if not topdown:
        yield url, folders, files


def _need_local(path: str) -> str:
    if not os.path.exists(path):
        raise status.missing(path)
    if not os.path.isdir(path):
        raise _not_directory(path)
    return path


def _need_remote(store: Store, where: Location) -> None:
    if not store.is_directory(where):
        status.need(where, store)
        raise _not_directory(str(where))


def _not_directory(path: str) -> MoxFileNotDirectoryException:
    return MoxFileNotDirectoryException(f"{path} is a file, not a directory", url=path)
