"""What every object store must be able to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from moxing.framework.file.urls import Location


@dataclass(frozen=True, slots=True)
class Info:
    """One object, or one directory of a listing.

    Attributes:
      key: its key; a directory's ends in a slash.
      size: bytes, 0 for a directory.
      mtime_ns: time of its last change in nanoseconds since 1970, 0 where none is known.
      etag: changes whenever the object does; empty for a directory.
    """

    key: str
    size: int = 0
    mtime_ns: int = 0
    etag: str = ""

    @property
    def is_directory(self) -> bool:
        """Whether this is a directory, or the empty object that stands for one."""
        return self.key.endswith("/")


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes `start` to `stop` of an object (`where`, `etag`) or of an open local file (`fd`)."""

    start: int
    stop: int
    fd: int = -1
    where: Location | None = None
    etag: str = ""

    @property
    def size(self) -> int:
        """Bytes it has."""
        return self.stop - self.start

    def cut(self, start: int, stop: int) -> Span:
        """Bytes `start` to `stop` of this span."""
        return Span(self.start + start, self.start + stop, self.fd, self.where, self.etag)


class Assembly(Protocol):
    """An object in the making. It is there, whole, once `finish` has returned, and not before."""

    @property
    def parts(self) -> Sequence[Callable[[], None]]:
        """Work that may be done in any order and side by side."""
        ...

    def finish(self) -> None:
        """Makes the object, once all `parts` are done."""
        ...

    def abort(self) -> None:
        """Drops what was done. Never raises."""
        ...


class Store(Protocol):
    """A flat space of objects by bucket and key."""

    def head(self, where: Location) -> Info | None:
        """The object at exactly this key, or None."""
        ...

    def list(self, where: Location, deep: bool, start: str = "") -> Iterator[Info]:
        """What is below the directory `where`, in the order of keys, a page at a time.

        Args:
          where: a directory.
          deep: every object below it, or only its own files and directories.
          start: only names that start so.
        """
        ...

    def is_directory(self, where: Location) -> bool:
        """Whether anything is below `where`, an empty object that stands for it counting too."""
        ...

    def read(self, where: Location, start: int, stop: int | None, etag: str) -> tuple[Info, bytes]:
        """Bytes of an object, fewer at its end, and the size and tag of the whole."""
        ...

    def read_ahead(
        self, where: Location, start: int, stop: int, etag: str
    ) -> Future[tuple[Info, bytes]]:
        """As `read`, while the caller does something else; tried only once."""
        ...

    def fetch(self, where: Location, fd: int, span: Span | None = None, etag: str = "") -> None:
        """Writes an object, or a span of it, to the same place of the local file `fd`."""
        ...

    def put(self, where: Location, data: bytes) -> None:
        """Makes or replaces a small object."""
        ...

    def copy(self, src: Location, dst: Location, info: Info) -> None:
        """Copies an object of at most 5 GiB inside the store."""
        ...

    def assemble(self, where: Location, spans: Sequence[Span]) -> Assembly:
        """Begins to make an object of `spans`, one after the other."""
        ...

    def delete(self, bucket: Location, keys: Sequence[str]) -> None:
        """Deletes objects; those that are not there count as deleted."""
        ...
