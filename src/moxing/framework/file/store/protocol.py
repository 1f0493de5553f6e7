"""The protocol that every object store implements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from moxing.framework.file.urls import Location


@dataclass(frozen=True, slots=True)
class Info:
    """An object, or a directory in a listing.

    Attributes:
      key: the key; the key of a directory ends in a slash.
      size: the size in bytes; 0 for a directory.
      mtime_ns: the time of the last change in nanoseconds since 1970; 0 if it is unknown.
      etag: a tag that changes with the object; empty for a directory.
    """

    key: str
    size: int = 0
    mtime_ns: int = 0
    etag: str = ""

    @property
    def is_directory(self) -> bool:
        """Whether this is a directory, or the empty object that represents one."""
        return self.key.endswith("/")


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes `start` to `stop` of an object (`where`, `etag`) or an open local file (`fd`)."""

    start: int
    stop: int
    fd: int = -1
    where: Location | None = None
    etag: str = ""

    @property
    def size(self) -> int:
        """The number of bytes in the span."""
        return self.stop - self.start

    def cut(self, start: int, stop: int) -> Span:
        """Returns the bytes `start` to `stop` of this span."""
        return Span(self.start + start, self.start + stop, self.fd, self.where, self.etag)


class Assembly(Protocol):
    """An object under construction, which exists, complete, only after `finish` has returned."""

    @property
    def parts(self) -> Sequence[Callable[[], None]]:
        """The functions to call, in any order and in parallel, before `finish`."""
        ...

    def finish(self) -> None:
        """Creates the object, after all `parts` are done."""
        ...

    def abort(self) -> None:
        """Discards the finished parts. Never raises an error."""
        ...


class Store(Protocol):
    """A flat namespace of objects by bucket and key."""

    def head(self, where: Location) -> Info | None:
        """Returns the object with exactly this key, or None."""
        ...

    def list(self, where: Location, deep: bool, start: str = "") -> Iterator[Info]:
        """Yields the entries below the directory `where` in the order of keys, page by page.

        Args:
          where: a directory.
          deep: whether to list all objects below the directory; else only its own entries.
          start: a prefix of the names to list.
        """
        ...

    def is_directory(self, where: Location) -> bool:
        """Whether any object is below `where`, including an empty object that represents it."""
        ...

    def read(self, where: Location, start: int, stop: int | None, etag: str) -> tuple[Info, bytes]:
        """Reads bytes of an object, fewer at its end; also returns its size and tag."""
        ...

    def read_ahead(
        self, where: Location, start: int, stop: int, etag: str
    ) -> Future[tuple[Info, bytes]]:
        """Reads in the background, with only one attempt; see `read`."""
        ...

    def fetch(self, where: Location, fd: int, span: Span | None = None, etag: str = "") -> None:
        """Writes an object, or a span of it, to the same position in the local file `fd`."""
        ...

    def put(self, where: Location, data: bytes) -> None:
        """Creates or replaces a small object."""
        ...

    def copy(self, src: Location, dst: Location, info: Info) -> None:
        """Copies an object of at most 5 GiB inside the store."""
        ...

    def assemble(self, where: Location, spans: Sequence[Span]) -> Assembly:
        """Starts to create an object from the concatenation of `spans`."""
        ...

    def delete(self, bucket: Location, keys: Sequence[str]) -> None:
        """Deletes objects; missing objects count as deleted."""
        ...
