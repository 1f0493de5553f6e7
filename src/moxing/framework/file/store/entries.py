"""Lists directories and trees of a store, with entries like `os.DirEntry`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from moxing.framework.file.status import FileStat
from moxing.framework.file.store.protocol import Info, Store
from moxing.framework.file.urls import Location


class RemoteEntry:
    """A file or directory in a store, with the interface of `os.DirEntry`.

    Attributes:
      name: the name of the entry in its directory.
      path: the URL of the entry.
    """

    __slots__ = ("_info", "name", "path")

    def __init__(self, info: Info, directory: Location) -> None:
        self._info = info
        self.name = info.key.rstrip("/").rpartition("/")[2]
        self.path = str(directory.at(info.key)).rstrip("/")

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<RemoteEntry {self.name!r}>"

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether the entry is a directory."""
        del follow_symlinks
        return self._info.is_directory

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether the entry is a file."""
        del follow_symlinks
        return not self._info.is_directory

    def is_symlink(self) -> bool:
        """Returns False: a store has no links."""
        return False

    def inode(self) -> int:
        """Returns 0: a store has no inodes."""
        return 0

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Returns the size and the time of the last change, without another request."""
        del follow_symlinks
        info = self._info
        return FileStat(info.size, info.mtime_ns, info.is_directory).as_os_stat()


class RemoteScan:
    """An iterator over the entries of a directory, with the interface of `os.scandir`."""

    def __init__(self, store: Store, directory: Location) -> None:
        self._entries = (
            RemoteEntry(info, directory)
            for info in reachable(store.list(directory, deep=False), directory)
        )

    def __iter__(self) -> Iterator[RemoteEntry]:
        return self

    def __next__(self) -> RemoteEntry:
        return next(self._entries)

    def __enter__(self) -> RemoteScan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the listing."""
        self._entries.close()


def reachable(found: Iterable[Info], directory: Location) -> Iterator[Info]:
    """Yields the entries of `found` that a URL can name.

    Repeated slashes in a URL count as one, so a key with an empty component has no URL. Its
    directory would seem to contain itself.
    """
    start = len(directory.prefix)
    for info in found:
        if all(info.key[start:].removesuffix("/").split("/")):
            yield info


def tree(store: Store, directory: Location) -> Iterator[Info]:
    """Yields everything below `directory` in the order of keys, directories before their content.

    A store lists only objects, whose names imply the directories. All keys of a directory are
    adjacent, so only the parents of the current key are held.
    """
    start = len(directory.prefix)
    around: list[str] = []
    for info in store.list(directory, deep=True):
        names = info.key[start:].split("/")
        parents = names[:-1]
        shared = 0
        while shared < min(len(around), len(parents)) and around[shared] == parents[shared]:
            shared += 1
        for depth in range(shared + 1, len(parents) + 1):
            yield Info(directory.prefix + "/".join(parents[:depth]) + "/")
        around = parents
        if not info.is_directory:
            yield info
