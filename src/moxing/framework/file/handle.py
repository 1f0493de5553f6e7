"""Opens a file by path or URL, as an object that behaves like Python's own file objects."""

from __future__ import annotations

import atexit
import io
import logging
import os
import weakref
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from moxing.errors import MoxValueError
from moxing.framework.file import status
from moxing.framework.file.store.reader import FIRST_BLOCK, ObjectReader
from moxing.framework.file.store.serving import store_for
from moxing.framework.file.store.writer import ObjectWriter
from moxing.framework.file.urls import PathLike, is_remote, parse, text

BUFFER = 1 << 20
_LOG = logging.getLogger(__name__)
_unfinished: weakref.WeakSet[File] = weakref.WeakSet()


class File:
    """A file on the local disk or in a store.

    Text and bytes, buffering, encodings and newlines work as in Python's `open`, whose arguments
    are supported as far as they make sense in a store.

    Data for a store is written to a local file first. `flush` and `close` create the object from
    the whole file; until then, the old object stays. If a `with` block ends with an exception, the
    object stays as the last `flush` made it.

    Args:
      name: a local path or URL.
      mode: r, w, a or x, with + and b or t as in `open`, in any order.
      buffering: as in `open`.
      encoding: as in `open`.
      errors: as in `open`.
      newline: as in `open`.

    Raises:
      MoxFileNotExistsException: there is no such file.
      MoxFileIsDirectoryException: `name` is a directory.
      MoxFileExistsException: the mode has x, and the file exists.
      MoxValueError: the mode is unknown.
    """

    def __init__(
        self,
        name: PathLike,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> None:
        self.name = text(name)
        self.mode = mode
        kind = _kind(mode)
        self._raw: ObjectReader | ObjectWriter | None = None
        if not is_remote(self.name):
            self._io: Any = _open_local(self.name, kind, buffering, encoding, errors, newline)
            return
        self._raw = _open_remote(self.name, kind)
        self._io = _wrapped(self._raw, kind, buffering, encoding, errors, newline)
        if isinstance(self._raw, ObjectWriter):
            _unfinished.add(self)

    def read(self, n: int | None = -1) -> Any:
        """Reads at most `n` characters or bytes, by default the rest of the file."""
        return self._io.read(n)

    def readline(self, size: int = -1) -> Any:
        """Reads the next line, or its first `size` characters or bytes; empty at the end."""
        return self._io.readline(size)

    def readlines(self, sizeint: int = -1) -> list[Any]:
        """Reads the remaining lines, or those that begin in the next `sizeint` characters."""
        return self._io.readlines(sizeint)

    def write(self, data: Any) -> int:
        """Writes text or bytes; returns the number of characters or bytes written."""
        return self._io.write(data)

    def writelines(self, sequence: Iterable[Any]) -> None:
        """Writes the elements of `sequence`, without adding line ends."""
        self._io.writelines(sequence)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Changes the position; see `io.IOBase.seek`."""
        return self._io.seek(offset, whence)

    def tell(self) -> int:
        """Returns the position; see `io.IOBase.tell`."""
        return self._io.tell()

    def size(self) -> int:
        """Returns the size of the file in bytes, including written data that is not flushed yet."""
        if isinstance(self._raw, ObjectReader):
            return self._raw.size
        if self.writable():
            self._io.flush()
        if self._raw is not None:
            return self._raw.length()
        return os.fstat(self._io.fileno()).st_size

    def flush(self) -> None:
        """Flushes written data; in a store, creates the object from it.

        A file that is flushed very often is sent only at intervals, so that flushes take at most a
        tenth of the time; `close` sends the rest.
        """
        self._io.flush()
        if isinstance(self._raw, ObjectWriter):
            self._raw.flushed()

    def close(self) -> None:
        """Flushes and closes the file; repeated calls have no effect.

        Raises:
          OSError: the store did not accept the file; the object is unchanged.
        """
        _unfinished.discard(self)
        if isinstance(self._raw, ObjectWriter) and self._raw.is_foreign:
            self._raw.drop()
        self._io.close()

    def __del__(self) -> None:
        # `_io` is missing if the file could not be opened.
        if "_io" in self.__dict__ and not self._io.closed:
            self.close()

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._io.closed

    def readable(self) -> bool:
        """Whether the file can be read."""
        return self._io.readable()

    def writable(self) -> bool:
        """Whether the file can be written."""
        return self._io.writable()

    def seekable(self) -> bool:
        """Whether the position can be changed."""
        return self._io.seekable()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_io":
            raise AttributeError(name)
        return getattr(self._io, name)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._io)

    def __enter__(self) -> File:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and isinstance(self._raw, ObjectWriter):
            _LOG.warning("%s was not written: its block ended with %s", self.name, kind.__name__)
            self._raw.drop()
        self.close()

    def __repr__(self) -> str:
        state = "closed " if self.closed else ""
        return f"<{state}File {self.name!r} mode={self.mode!r}>"


def open_whole(url: str) -> File:
    """Opens a file to read its whole content as bytes, with large requests to a store."""
    if not is_remote(url):
        return File(url, "rb")
    opened = File.__new__(File)
    opened.name, opened.mode = url, "rb"
    opened._raw = _open_remote(url, "rb", first=BUFFER * 8)
    opened._io = io.BufferedReader(opened._raw, BUFFER)
    return opened


def _kind(mode: str) -> str:
    """Returns the mode in a fixed order: one of r, w, a, x, then +, then b."""
    letters = set(mode) if isinstance(mode, str) else set()
    first = letters & set("rwax")
    known = letters <= set("rwax+bt") and len(letters) == len(mode)
    if not known or len(first) != 1 or {"b", "t"} <= letters:
        raise MoxValueError(
            f"there is no file mode {mode!r}; use one of 'r', 'w', 'a', 'x', with '+' to read and "
            "write and 'b' for bytes, such as 'rb' or 'r+'"
        )
    return first.pop() + ("+" if "+" in letters else "") + ("b" if "b" in letters else "")


def _open_local(
    name: str,
    kind: str,
    buffering: int,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
) -> Any:
    try:
        return open(name, kind, buffering, encoding, errors, newline)  # noqa: SIM115
    except FileNotFoundError:
        parent = os.path.dirname(name)
        if kind[0] == "r" or not name or (parent and not os.path.isdir(parent)):
            raise status.missing(name if kind[0] == "r" else parent or name) from None
        raise


def _open_remote(name: str, kind: str, first: int = FIRST_BLOCK) -> ObjectReader | ObjectWriter:
    where = parse(name)
    store = store_for(where)
    if kind in ("r", "rb"):
        return ObjectReader(store, where, first)
    return ObjectWriter(store, where, kind)


def _wrapped(
    raw: ObjectReader | ObjectWriter,
    kind: str,
    buffering: int,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
) -> Any:
    binary = "b" in kind
    if binary and (encoding, errors, newline) != (None, None, None):
        raise MoxValueError("a file of bytes (mode 'b') has no encoding, errors or newline")
    if buffering == 0:
        if not binary:
            raise MoxValueError("text can't be unbuffered; give mode 'b' with buffering=0")
        return raw
    size = buffering if buffering > 1 else BUFFER
    if "+" in kind:
        buffered: Any = io.BufferedRandom(raw, size)  # type: ignore[arg-type]
    elif kind[0] == "r":
        buffered = io.BufferedReader(raw, size)
    else:
        buffered = io.BufferedWriter(raw, size)
    if binary:
        return buffered
    return io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)


def _close_all() -> None:
    """Closes the files that a program left open at its end, as Python does with its own files."""
    for file in list(_unfinished):
        try:
            file.close()
        except Exception:
            _LOG.exception("%s could not be written at the end of the program", file.name)


atexit.register(_close_all)
