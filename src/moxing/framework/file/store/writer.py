"""Writes an object through a local file, so that the object is complete or unchanged."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import tempfile
import time
from collections.abc import Iterator

from moxing.framework.file import status
from moxing.framework.file.configuration import tuning
from moxing.framework.file.copying import transfer
from moxing.framework.file.errors import (
    MoxFileError,
    MoxFileExistsException,
    MoxFileIsDirectoryException,
    MoxFileRespException,
)
from moxing.framework.file.store.protocol import Info, Span, Store
from moxing.framework.file.urls import Location

# To append to a longer object, the store joins old and new content without a download.
FETCHED_TO_APPEND = 8 * tuning.MIB
# The seconds that flushes may take at first, and the share of the total time after that.
FLUSH_ALLOWANCE, FLUSH_SHARE = 2.0, 0.1


class ChangedError(MoxFileRespException):
    """Another process changed an object while it was open for appending."""


class ObjectWriter(io.FileIO):
    """A file on the local disk that is uploaded as the object `where` when it is closed.

    Args:
      store: the store of the object.
      where: the location of the object.
      mode: a binary mode of `open`: one of r+, w, w+, a, a+, x, x+, with a `b`.

    Raises:
      MoxFileNotExistsException: the mode has r+, and the object does not exist.
      MoxFileExistsException: the mode has x, and the object exists.
      MoxFileIsDirectoryException: `where` is a directory.
    """

    def __init__(self, store: Store, where: Location, mode: str) -> None:
        if where.names_directory:
            raise MoxFileIsDirectoryException(f"{where} is a directory", url=str(where))
        self._store = store
        self._where = where
        self._base: Info | None = None
        self._before: int | None = None
        self._dropped = False
        self._failed: OSError | None = None
        self._process = os.getpid()
        self._opened = time.monotonic()
        self._spent = 0.0
        found = None if mode[0] == "w" else store.head(where)
        if mode[0] == "x" and found is not None:
            raise MoxFileExistsException(f"{where} exists", url=str(where))
        if mode[0] == "r" and found is None:
            raise _no_file(store, where)
        # A second descriptor of the local file, from which it is uploaded.
        self._source, path = tempfile.mkstemp(prefix="mox-", dir=tuning.staging_dir())
        try:
            append = mode[0] == "a" and "+" not in mode
            if found is not None and append and found.size > FETCHED_TO_APPEND:
                self._base = found
            elif found is not None:
                with self._staging():
                    store.fetch(where, self._source)
            super().__init__(path, _reopened(mode))
        except BaseException:
            os.close(self._source)
            raise
        finally:
            # Only the open file is needed; without a name, it can't be left behind.
            os.unlink(path)
        self.name = str(where)
        self._dirty = found is None or mode[0] == "w"
        # An append must not overwrite data that another process has appended meanwhile.
        self._appends = mode[0] == "a"
        self._seen = found

    def write(self, data) -> int:  # type: ignore[override]  # noqa: ANN001 (as FileIO's)
        """Writes to the local file; in mode a, at its end."""
        if self.is_foreign:
            # Data from a forked child would go into the file that its parent uploads.
            if self._dropped:
                return len(data)
            raise io.UnsupportedOperation(f"{self.name} was opened by another process")
        self._dirty = True
        if self._base is not None:
            super().seek(0, io.SEEK_END)
            self._before = None
        with self._staging():
            return super().write(data)

    def truncate(self, size: int | None = None) -> int:  # type: ignore[override]
        """Truncates the file to `size` bytes, by default to the current position."""
        at = self.tell() if size is None else size
        if self._base is not None:
            if at < self._base.size:
                raise io.UnsupportedOperation(
                    f"{self.name} is open for appending and can't be cut; open it with mode 'r+'"
                )
            super().truncate(at - self._base.size)
        else:
            super().truncate(at)
        self._dirty = True
        return at

    def tell(self) -> int:
        """Returns the position in the object."""
        if self._base is None:
            return super().tell()
        return self._base.size + super().tell() if self._before is None else self._before

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Changes the position in the object. In mode a, every write goes to the end."""
        if self._base is None:
            return super().seek(offset, whence)
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self.length()}[whence]
        target = start + offset
        if target < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        # The old content is not in the local file, so a position in it is only remembered.
        self._before = target if target < self._base.size else None
        super().seek(max(target - self._base.size, 0))
        return target

    def length(self) -> int:
        """Returns the size in bytes that the object would have now."""
        return os.fstat(self._source).st_size + (self._base.size if self._base else 0)

    @property
    def is_foreign(self) -> bool:
        """Whether this is a forked child's copy of its parent's writer."""
        return os.getpid() != self._process

    def publish(self, last: bool = False) -> None:
        """Creates the object immediately from the data written so far.

        Args:
          last: whether no more data follows.

        Raises:
          ChangedError: the file is open for appending, and another process has changed the object.
        """
        if not self._dirty or self._dropped or self.is_foreign:
            return
        if self._failed is not None:
            raise self._failed
        began = time.monotonic()
        spans = [Span(0, os.fstat(self._source).st_size, self._source)]
        if self._base is not None:
            self._check_unchanged()
            base = Span(0, self._base.size, where=self._where, etag=self._base.etag)
            spans.insert(0, base)
        ready = self._check_unchanged if self._appends else None
        transfer.assemble(self._store, self._where, spans, ready)
        self._dirty = False
        if self._appends and not last:
            self._seen = status.need(self._where, self._store)
        if self._base is not None:
            self._base = self._seen
            super().truncate(0)
        self._spent += time.monotonic() - began

    def _check_unchanged(self) -> None:
        # Not every store supports conditional requests, so check the object first.
        found = self._store.head(self._where)
        if (found.etag if found else "") != (self._seen.etag if self._seen else ""):
            raise ChangedError(
                f"{self.name} was changed by somebody else since it was opened for appending; "
                "nothing was appended",
                url=self.name,
            )

    def flushed(self) -> None:
        """Calls `publish`, unless flushes take more than a tenth of the time.

        Otherwise, a log that flushes every line would upload its whole file for each line. Deferred
        data is sent with a later flush, at the latest with `close`.
        """
        allowed = FLUSH_ALLOWANCE + FLUSH_SHARE * (time.monotonic() - self._opened)
        if self._spent <= allowed:
            self.publish()

    @contextlib.contextmanager
    def _staging(self) -> Iterator[None]:
        """In the block, errors name the local disk; an incomplete file is never uploaded."""
        try:
            yield
        except MoxFileError:
            raise
        except OSError as error:
            self._failed = MoxFileError(
                f"{self._where} can't be written: {error.strerror} in {tuning.staging_dir()}, "
                "where files wait for their upload. Free space there, or set MOX_FILE_CACHE_DIR to "
                "a directory with more. Nothing more of it is sent",
                url=str(self._where),
            )
            self._failed.errno = error.errno
            raise self._failed from error

    def drop(self) -> None:
        """Makes `close` leave the object unchanged."""
        self._dropped = True

    def close(self) -> None:
        """Creates the object, and then releases the local file."""
        if self.closed:
            return
        try:
            self.publish(last=True)
        finally:
            os.close(self._source)
            super().close()


def _reopened(mode: str) -> str:
    """Returns the mode to open the local file, which exists already."""
    first = {"x": "w"}.get(mode[0], mode[0])
    return f"{first}+b" if "+" in mode else f"{first}b"


def _no_file(store: Store, where: Location) -> Exception:
    if store.is_directory(where):
        return MoxFileIsDirectoryException(f"{where} is a directory", url=str(where))
    return status.missing(str(where))
