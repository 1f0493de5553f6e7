"""Writes an object by way of a local file, so that it is there whole or not at all."""

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

# A longer object is not fetched to append to it: the store puts old and new together.
FETCHED_TO_APPEND = 8 * tuning.MIB
# Seconds that flushes may take at once, and the share of all time that they may take later.
FLUSH_ALLOWANCE, FLUSH_SHARE = 2.0, 0.1


class ChangedError(MoxFileRespException):
    """An object was changed by somebody else while it was open for appending."""


class ObjectWriter(io.FileIO):
    """A file on the local disk that becomes the object `where` when it is closed.

    Args:
      store: where the object will be.
      where: which one.
      mode: as of `open`, binary: one of r+, w, w+, a, a+, x, x+ with a `b`.

    Raises:
      MoxFileNotExistsException: mode r+ and there is no such object.
      MoxFileExistsException: mode x and there is one.
      MoxFileIsDirectoryException: it is a directory.
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
        # Beside the file that is written to, one descriptor to send it from.
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
            # The open file is all that is needed; without a name it can't be left behind.
            os.unlink(path)
        self.name = str(where)
        self._dirty = found is None or mode[0] == "w"
        # Who appends must not take away what somebody else has appended meanwhile.
        self._appends = mode[0] == "a"
        self._seen = found

    def write(self, data) -> int:  # type: ignore[override]  # noqa: ANN001 (as FileIO's)
        """Writes to the local file; at its end where the mode is a."""
        if self.is_foreign:
            # What a forked child writes would go into the file that its parent sends.
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
        """Cuts the file at `size` bytes, by default where it stands."""
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
        """The position in the object."""
        if self._base is None:
            return super().tell()
        return self._base.size + super().tell() if self._before is None else self._before

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Goes to a position in the object. In mode a, it is at the end again before a write."""
        if self._base is None:
            return super().seek(offset, whence)
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self.length()}[whence]
        target = start + offset
        if target < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        # What was there before is not in the local file, so a position in it is only remembered.
        self._before = target if target < self._base.size else None
        super().seek(max(target - self._base.size, 0))
        return target

    def length(self) -> int:
        """Bytes that the object would have now."""
        return os.fstat(self._source).st_size + (self._base.size if self._base else 0)

    @property
    def is_foreign(self) -> bool:
        """Whether this is a forked child's copy of its parent's writer."""
        return os.getpid() != self._process

    def publish(self, last: bool = False) -> None:
        """Makes the object of what was written so far, at once.

        Args:
          last: whether nothing follows.

        Raises:
          ChangedError: the file is open for appending and somebody else changed it meanwhile.
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
        # Not every store heeds a condition that goes with the request itself.
        found = self._store.head(self._where)
        if (found.etag if found else "") != (self._seen.etag if self._seen else ""):
            raise ChangedError(
                f"{self.name} was changed by somebody else since it was opened for appending; "
                "nothing was appended",
                url=self.name,
            )

    def flushed(self) -> None:
        """As `publish`, unless flushes take more than a tenth of the time.

        A log that flushes every line would otherwise send its whole file for each. What is put off
        goes with a later flush, at the latest with `close`.
        """
        allowed = FLUSH_ALLOWANCE + FLUSH_SHARE * (time.monotonic() - self._opened)
        if self._spent <= allowed:
            self.publish()

    @contextlib.contextmanager
    def _staging(self) -> Iterator[None]:
        """Names the local disk in its errors; a file of which a part is missing is never sent."""
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
        """Leaves the object as it is when this is closed."""
        self._dropped = True

    def close(self) -> None:
        """Makes the object, then lets the local file go."""
        if self.closed:
            return
        try:
            self.publish(last=True)
        finally:
            os.close(self._source)
            super().close()


def _reopened(mode: str) -> str:
    """The mode for the local file, which is there already."""
    first = {"x": "w"}.get(mode[0], mode[0])
    return f"{first}+b" if "+" in mode else f"{first}b"


def _no_file(store: Store, where: Location) -> Exception:
    if store.is_directory(where):
        return MoxFileIsDirectoryException(f"{where} is a directory", url=str(where))
    return status.missing(str(where))
