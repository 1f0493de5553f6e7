"""Creates, removes, renames and copies files and directories."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence

from moxing.errors import MoxValueError
from moxing.framework.file import status
from moxing.framework.file.configuration import settings
from moxing.framework.file.copying import transfer, trees
from moxing.framework.file.errors import (
    MoxFileExistsException,
    MoxFileIsDirectoryException,
    MoxFileNotDirectoryException,
    MoxFileNotExistsException,
)
from moxing.framework.file.store.protocol import Store
from moxing.framework.file.store.serving import store_for
from moxing.framework.file.urls import Location, PathLike, is_remote, named, parse, text

# The number of keys that are held and deleted at once.
BATCH = 1000


def make_dirs(url: PathLike) -> None:
    """Creates a directory and its missing parents. An existing directory is left unchanged.

    Raises:
      MoxFileExistsException: `url` is a file.
    """
    if not is_remote(url):
        path = text(url)
        if os.path.isfile(path):
            raise _exists(path, "is a file")
        os.makedirs(path, exist_ok=True)
        return
    where = parse(url)
    store = store_for(where)
    found = status.find(where, store)
    if found is None:
        _mark(store, where)
    elif not found.is_directory:
        raise _exists(str(where), "is a file")


def mk_dir(url: PathLike) -> None:
    """Creates a directory in an existing parent.

    Raises:
      MoxFileNotExistsException: the parent does not exist.
      MoxFileExistsException: `url` exists.
    """
    if not is_remote(url):
        path = text(url)
        try:
            os.mkdir(path)
        except FileExistsError:
            raise _exists(path, "is there already") from None
        except FileNotFoundError:
            raise _no_parent(path, os.path.dirname(path)) from None
        return
    where = parse(url)
    store = store_for(where)
    if status.find(where, store) is not None:
        raise _exists(str(where), "is there already")
    if not where.key:
        _mark(store, where)
    parent = where.at(where.key.rstrip("/").rpartition("/")[0])
    if not store.is_directory(parent):
        raise _no_parent(str(where), str(parent))
    _mark(store, where)


def remove(url: PathLike, recursive: bool = False) -> None:
    """Removes a file or, with `recursive`, a directory with its whole content.

    A bucket itself is never removed, only its content.

    Raises:
      MoxFileIsDirectoryException: `url` is a directory and `recursive` is false.
      MoxFileNotExistsException: there is no such file or directory.
    """
    path = text(url)
    directory = _is_directory(path)
    if directory and not recursive:
        raise MoxFileIsDirectoryException(
            f"{path} is a directory; remove(..., recursive=True) removes it with all that is in it",
            url=path,
        )
    if not is_remote(path):
        _remove_local(path, directory)
        return
    where = parse(path)
    store = store_for(where)
    if not directory:
        store.delete(where, [where.key])
        return
    _remove_below(store, where)


def remove_files(urls: Sequence[str]) -> None:
    """Removes files of one bucket, in this order; missing files count as removed."""
    for start in range(0, len(urls), BATCH):
        found = [parse(url) for url in urls[start : start + BATCH]]
        store_for(found[0]).delete(found[0], [where.key for where in found])


def rename(src_url: PathLike, dst_url: PathLike) -> None:
    """Renames a file or directory, also from a store to the local disk and back.

    Outside of the local disk a rename is a copy: all of it is copied before any of it is removed. A
    file at the destination is replaced.

    Raises:
      MoxFileNotExistsException: there is no `src_url`.
      MoxFileExistsException: `dst_url` is a directory that is not empty.
    """
    src, dst = text(src_url), named(dst_url)
    if not is_remote(src) and not is_remote(dst):
        try:
            os.rename(src, dst)
        except FileNotFoundError:
            if not os.path.lexists(src):
                raise status.missing(src) from None
            raise
        return
    directory = _is_directory(src)
    _check_target(src, dst, directory)
    if _same(src, dst):
        return
    if directory:
        trees.copy_tree(src, dst)
    else:
        transfer.copy_one(src, dst, settings.current())
    remove(src, recursive=directory)


def copy(src_url: PathLike, dst_url: PathLike, client_id: object = None) -> None:
    """Copies one file, and creates missing parents of the destination.

    The destination is replaced as a whole once all data is there, and is unchanged after an error.

    Args:
      src_url, dst_url: local paths or URLs.
      client_id: not used, accepted for old scripts.

    Raises:
      MoxFileNotExistsException: there is no `src_url`.
      MoxFileIsDirectoryException: one of the paths is a directory (a `MoxFileRespException`).
    """
    del client_id
    src, dst = text(src_url), named(dst_url)
    if _names_directory(dst) or (not is_remote(dst) and os.path.isdir(dst)):
        raise MoxFileIsDirectoryException(
            f"{dst} is a directory; give the whole name of the copy of {src}", url=dst
        )
    if not is_remote(src) and not os.path.exists(src):
        raise status.missing(src)
    if _same(src, dst):
        raise MoxValueError(f"{src} can't be copied onto itself")
    try:
        transfer.copy_one(src, dst, settings.current())
    except MoxFileIsDirectoryException:
        raise _directory_copied(src) from None
    except MoxFileNotExistsException:
        if is_remote(src) and is_directory(src):
            raise _directory_copied(src) from None
        raise


def is_directory(url: str) -> bool:
    """Whether `url` is a directory and not a file."""
    found = status.find(parse(url))
    return found is not None and found.is_directory


def _mark(store: Store, where: Location) -> None:
    # A store has no directories; an empty object whose key ends in a slash represents one.
    if where.key:
        store.put(where.at(where.prefix), b"")
        return
    raise MoxFileNotExistsException(
        f"the bucket {where.top} does not exist; create it with your provider's tools",
        url=where.top,
    )


def _is_directory(path: str) -> bool:
    if is_remote(path):
        return status.need(parse(path)).is_directory
    if not os.path.lexists(path):
        raise status.missing(path)
    return os.path.isdir(path) and not os.path.islink(path)


def _remove_local(path: str, directory: bool) -> None:
    if directory:
        shutil.rmtree(path)
    else:
        os.remove(path)


def _remove_below(store: Store, where: Location) -> None:
    keys: list[str] = []
    for info in store.list(where, deep=True):
        keys.append(info.key)
        if len(keys) == BATCH:
            store.delete(where, keys)
            keys = []
    # Remove the object that represents the directory last, so that the objects left by a failure
    # can still be found.
    if where.key:
        keys.append(where.prefix)
    if keys:
        store.delete(where, keys)


def _check_target(src: str, dst: str, directory: bool) -> None:
    if not directory:
        if _names_directory(dst) or (status.exists(dst) and status.is_directory(dst)):
            raise MoxFileIsDirectoryException(
                f"{src} can't be renamed to {dst}, which is a directory", url=dst
            )
        return
    if status.exists(dst) and not status.is_directory(dst):
        raise MoxFileNotDirectoryException(
            f"the directory {src} can't be renamed to {dst}, which is a file", url=dst
        )
    if f"{dst.rstrip('/')}/".startswith(f"{src.rstrip('/')}/") and not _same(src, dst):
        raise MoxValueError(f"{src} can't be renamed to {dst}, which is inside it")
    if status.exists(dst) and not _same(src, dst) and not trees.is_empty(dst):
        error = MoxFileExistsException(
            f"{src} can't be renamed to {dst}, which is a directory that is not empty", url=dst
        )
        error.errno = errno.ENOTEMPTY
        raise error


def _names_directory(path: str) -> bool:
    return parse(path).names_directory if is_remote(path) else path.endswith(os.sep)


def _same(src: str, dst: str) -> bool:
    if is_remote(src) and is_remote(dst):
        a, b = parse(src), parse(dst)
        return (a.bucket, a.key.rstrip("/")) == (b.bucket, b.key.rstrip("/"))
    if is_remote(src) or is_remote(dst):
        return False
    return os.path.exists(src) and os.path.exists(dst) and os.path.samefile(src, dst)


def _directory_copied(src: str) -> MoxFileIsDirectoryException:
    return MoxFileIsDirectoryException(
        f"{src} is a directory; copy() copies one file, copy_parallel() a directory", url=src
    )


def _exists(path: str, what: str) -> MoxFileExistsException:
    return MoxFileExistsException(f"{path} {what}", url=path)


def _no_parent(path: str, parent: str) -> MoxFileNotExistsException:
    return MoxFileNotExistsException(
        f"{path} can't be made: its parent {parent or os.getcwd()} does not exist (make_dirs() "
        "makes parents, too)",
        url=path,
    )
