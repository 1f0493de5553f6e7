"""Makes standard functions (`open`, `os`, `glob`, `shutil`) accept URLs, and reverts that.

Every replaced function passes calls without URLs to the original with the same arguments, so
nothing changes for local paths.
"""

from __future__ import annotations

import builtins
import functools
import glob
import io
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from moxing.errors import MoxValueError
from moxing.framework.file import changes, listing, status
from moxing.framework.file.copying import trees
from moxing.framework.file.errors import MoxFileExistsException, MoxFileIsDirectoryException
from moxing.framework.file.handle import File
from moxing.framework.file.urls import is_remote

Function = Callable[..., Any]

_SIDES = ("os", "mox")
# The sets in which `os` lists functions by their abilities; other code looks functions up there.
_ABILITIES = (
    os.supports_dir_fd,
    os.supports_effective_ids,
    os.supports_fd,
    os.supports_follow_symlinks,
)


def shift(source: str, target: str) -> None:
    """`shift('os', 'mox')` makes standard functions accept URLs; `shift('mox', 'os')` reverts it.

    The replaced functions are `open`, `os.listdir`, `os.scandir`, `os.walk`, `os.stat`, `os.mkdir`,
    `os.makedirs`, `os.remove`, `os.unlink`, `os.rmdir`, `os.rename`, `os.replace`,
    `os.path.exists`, `lexists`, `isfile`, `isdir`, `getsize`, `getmtime`, `glob.glob`,
    `glob.iglob`, `shutil.copyfile`, `copy`, `copy2`, `copytree`, `move` and `rmtree`. Functions
    imported from their modules before (`from os import listdir`) do not change. Local paths work as
    before. Repeated calls have no further effect.

    Raises:
      MoxValueError: other arguments.
    """
    if (source, target) == ("os", "mox"):
        for place, name, function in _replacements():
            _replace(place, name, function)
    elif (source, target) == ("mox", "os"):
        for place, name, _ in _replacements():
            _restore(place, name)
    else:
        raise MoxValueError(
            f"shift({source!r}, {target!r}): use shift('os', 'mox'), or shift('mox', 'os') to take "
            "it back"
        )


def _replacements() -> Iterator[tuple[Any, str, Function]]:
    """Yields (module, name, replacement for calls with a URL)."""
    yield builtins, "open", _open
    yield io, "open", _open
    yield os, "listdir", listing.list_directory
    yield os, "scandir", listing.scan_dir
    yield os, "walk", listing.walk
    yield os, "stat", _stat
    yield os, "mkdir", _mkdir
    yield os, "makedirs", _makedirs
    yield os, "remove", _remove
    yield os, "unlink", _remove
    yield os, "rmdir", _rmdir
    yield os, "rename", _rename
    yield os, "replace", _rename
    yield os.path, "exists", status.exists
    yield os.path, "lexists", status.exists
    yield os.path, "isfile", status.is_file
    yield os.path, "isdir", status.is_directory
    yield os.path, "getsize", status.get_size
    yield os.path, "getmtime", _getmtime
    yield glob, "glob", _glob
    yield glob, "iglob", lambda *args, **kwargs: iter(_glob(*args, **kwargs))
    yield shutil, "copyfile", _copyfile
    yield shutil, "copy", _copy
    yield shutil, "copy2", _copy
    yield shutil, "copytree", _copytree
    yield shutil, "move", _move
    yield shutil, "rmtree", _rmtree


class _Shifted:
    """Marks a replacement, and keeps the original function."""

    MARK = "_moxing_original"


def _replace(place: Any, name: str, remote: Function) -> None:
    original = getattr(place, name)
    if hasattr(original, _Shifted.MARK):
        return
    if place is io:
        # `open` and `io.open` are the same function, and must stay the same.
        setattr(place, name, builtins.open)
        return
    shifted = _either(original, remote)
    # `pickle` looks a function up by these names, so they must lead to the replacement.
    module = place.__name__ if place is not builtins else "io"
    shifted.__module__ = module
    shifted.__qualname__ = shifted.__name__ = name
    setattr(place, name, shifted)
    for ability in _ABILITIES:
        if original in ability:
            ability.add(shifted)


def _restore(place: Any, name: str) -> None:
    shifted = getattr(place, name)
    original = getattr(shifted, _Shifted.MARK, None)
    # Other code may have replaced the function again.
    if original is None:
        return
    setattr(place, name, original)
    for ability in _ABILITIES:
        ability.discard(shifted)


def _either(original: Function, remote: Function) -> Function:
    @functools.wraps(original)
    def shifted(*args: Any, **kwargs: Any) -> Any:
        if _has_url(args, kwargs):
            return remote(*args, **kwargs)
        return original(*args, **kwargs)

    setattr(shifted, _Shifted.MARK, original)
    return shifted


def _has_url(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    # In all these functions, paths are among the first two arguments, or are given by name.
    if any(is_remote(value) for value in args[:2]):
        return True
    return bool(kwargs) and any(is_remote(value) for value in kwargs.values())


def _open(
    file: str,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: object = None,
) -> File:
    del closefd, opener
    return File(file, mode, buffering, encoding, errors, newline)


def _stat(path: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
    del dir_fd, follow_symlinks
    return status.stat(path).as_os_stat()


def _getmtime(filename: str) -> float:
    return status.stat(filename).st_mtime


def _mkdir(path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
    del mode, dir_fd
    changes.mk_dir(path)


def _makedirs(name: str, mode: int = 0o777, exist_ok: bool = False) -> None:
    del mode
    if not exist_ok and status.exists(name):
        raise MoxFileExistsException(f"{name} is there already", url=name)
    changes.make_dirs(name)


def _remove(path: str, *, dir_fd: int | None = None) -> None:
    del dir_fd
    changes.remove(path)


def _rmdir(path: str, *, dir_fd: int | None = None) -> None:
    del dir_fd
    if status.is_directory(path) and not trees.is_empty(path):
        raise MoxFileExistsException(f"the directory {path} is not empty", url=path)
    changes.remove(path, recursive=True)


def _rename(src: str, dst: str, **_: object) -> None:
    changes.rename(src, dst)


def _glob(
    pathname: str,
    *,
    root_dir: object = None,
    dir_fd: int | None = None,
    recursive: bool = False,
    include_hidden: bool = False,
) -> list[str]:
    del root_dir, dir_fd, include_hidden
    return listing.glob(pathname, recursive)


def _copyfile(src: str, dst: str, *, follow_symlinks: bool = True) -> str:
    del follow_symlinks
    changes.copy(src, dst)
    return dst


def _copy(src: str, dst: str, *, follow_symlinks: bool = True) -> str:
    del follow_symlinks
    into = dst.endswith("/") or status.is_directory(dst)
    target = f"{dst.rstrip('/')}/{os.path.basename(src)}" if into else dst
    changes.copy(src, target)
    return target


def _copytree(src: str, dst: str, *args: object, dirs_exist_ok: bool = False, **_: object) -> str:
    del args
    if not status.is_directory(src):
        status.stat(src)
        raise MoxFileIsDirectoryException(f"{src} is no directory", url=src)
    if not dirs_exist_ok and status.exists(dst):
        raise MoxFileExistsException(f"{dst} is there already", url=dst)
    trees.copy_parallel(src, dst)
    return dst


def _move(src: str, dst: str, copy_function: object = None) -> str:
    del copy_function
    target = dst
    if status.is_directory(dst):
        target = f"{dst.rstrip('/')}/{os.path.basename(src.rstrip('/'))}"
    changes.rename(src, target)
    return target


def _rmtree(path: str, ignore_errors: bool = False, onerror: object = None, **_: object) -> None:
    del onerror
    try:
        changes.remove(path, recursive=True)
    except OSError:
        if not ignore_errors:
            raise
