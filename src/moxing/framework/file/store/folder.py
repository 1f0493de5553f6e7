"""A local directory that replaces a store, for tests and laptops (`MOX_FILE_S3_ROOT`).

The bucket `b` is the directory `b` in it, and the object `a/x` is the file `b/a/x`. The first write
creates a bucket. Unlike in a store, a directory stays when its last file is deleted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

from moxing.errors import MoxValueError
from moxing.framework import atomic
from moxing.framework.file import disk
from moxing.framework.file.errors import MoxFileNotExistsException, MoxFileReadException
from moxing.framework.file.store.protocol import Assembly, Info, Span
from moxing.framework.file.urls import Location


class FolderStore:
    """A store in the local directory `root`."""

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)

    def head(self, where: Location) -> Info | None:
        """Returns the object with exactly this key, or None."""
        path = self._path(where)
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if os.path.isdir(path) != where.names_directory:
            return None
        return _info(where.key, found)

    def is_directory(self, where: Location) -> bool:
        """Whether `where` is a directory."""
        return os.path.isdir(self._path(where))

    def list(self, where: Location, deep: bool, start: str = "") -> Iterator[Info]:
        """Yields the entries below the directory `where`, in the order of keys."""
        for item in self._scan(self._path(where), where.prefix, deep):
            if item.key.startswith(where.prefix + start):
                yield item

    def _scan(self, path: str, prefix: str, deep: bool) -> Iterator[Info]:
        try:
            with os.scandir(path) as entries:
                kept = [entry for entry in entries if not atomic.is_unfinished(entry.name)]
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in sorted(kept, key=_by_key):
            if not disk.is_directory(entry):
                with contextlib.suppress(OSError):
                    yield _info(prefix + entry.name, entry.stat())
                continue
            key = f"{prefix}{entry.name}/"
            yield Info(key)
            if deep:
                yield from self._scan(entry.path, key, deep)

    def read(self, where: Location, start: int, stop: int | None, etag: str) -> tuple[Info, bytes]:
        """Reads bytes of an object, fewer at its end; also returns its size and tag."""
        with self._open(where, etag) as (fd, info):
            end = info.size if stop is None else min(stop, info.size)
            pieces: list[bytes] = []
            while start < end:
                data = os.pread(fd, end - start, start)
                if not data:
                    break
                pieces.append(data)
                start += len(data)
            return info, b"".join(pieces)

    def read_ahead(
        self, where: Location, start: int, stop: int, etag: str
    ) -> Future[tuple[Info, bytes]]:
        """Reads immediately, because the disk is fast; see `read`."""
        done: Future[tuple[Info, bytes]] = Future()
        try:
            done.set_result(self.read(where, start, stop, etag))
        except OSError as error:
            done.set_exception(error)
        return done

    def fetch(self, where: Location, fd: int, span: Span | None = None, etag: str = "") -> None:
        """Writes an object, or a span of it, to the same position in the local file `fd`."""
        with self._open(where, etag) as (src, info):
            wanted = span or Span(0, info.size)
            if disk.copy_span(src, wanted.start, wanted.size, fd, wanted.start) != wanted.size:
                raise _changed(where)

    def put(self, where: Location, data: bytes) -> None:
        """Creates or replaces an object; a key that ends in a slash creates a directory."""
        path = self._path(where)
        if where.names_directory:
            os.makedirs(path, exist_ok=True)
            return
        with disk.replacing(path) as fd:
            atomic.write_all(fd, data)

    def copy(self, src: Location, dst: Location, info: Info) -> None:
        """Copies an object inside the store."""
        if dst.names_directory:
            self.put(dst, b"")
            return
        self.assemble(dst, [Span(0, info.size, where=src, etag=info.etag)]).finish()

    def assemble(self, where: Location, spans: Sequence[Span]) -> Assembly:
        """Starts to create an object from the concatenation of `spans`."""
        return _Joined(lambda: self._join(where, spans))

    def _join(self, where: Location, spans: Sequence[Span]) -> None:
        with disk.replacing(self._path(where)) as fd:
            at = 0
            for span in spans:
                at += self._copy_in(span, fd, at)

    def _copy_in(self, span: Span, fd: int, at: int) -> int:
        if span.where is None:
            done = disk.copy_span(span.fd, span.start, span.size, fd, at)
        else:
            with self._open(span.where, span.etag) as (src, _):
                done = disk.copy_span(src, span.start, span.size, fd, at)
        if done != span.size:
            raise _changed(span.where)
        return done

    def delete(self, bucket: Location, keys: Sequence[str]) -> None:
        """Deletes objects; missing objects count as deleted."""
        # Delete the deepest keys first, so that a directory is empty when it is deleted.
        for key in sorted(keys, reverse=True):
            path = self._path(bucket.at(key))
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                if key.endswith("/"):
                    with contextlib.suppress(OSError):
                        os.rmdir(path)
                else:
                    os.unlink(path)

    @contextlib.contextmanager
    def _open(self, where: Location, etag: str) -> Iterator[tuple[int, Info]]:
        path = self._path(where)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise MoxFileNotExistsException(
                f"{where} does not exist (there is no {path})", url=str(where)
            ) from None
        try:
            info = _info(where.key, os.fstat(fd))
            if os.path.isdir(path):
                raise MoxFileNotExistsException(f"{where} does not exist as a file", url=str(where))
            if etag and info.etag != etag:
                raise _changed(where)
            yield fd, info
        finally:
            os.close(fd)

    def _path(self, where: Location) -> str:
        parts = [where.bucket, *where.key.rstrip("/").split("/")]
        if any(part in (".", "..") or "\0" in part for part in parts):
            raise MoxValueError(f"{where} has a component that no directory can hold")
        return os.path.join(self._root, *[part for part in parts if part])


class _Joined:
    """An object that `finish` creates in one step."""

    def __init__(self, make: Callable[[], None]) -> None:
        self.parts: Sequence[Callable[[], None]] = ()
        self._make = make

    def finish(self) -> None:
        self._make()

    def abort(self) -> None:
        return


def _info(key: str, found: os.stat_result) -> Info:
    if key.endswith("/") or not key:
        return Info(key, 0, found.st_mtime_ns)
    tag = f'"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"'
    return Info(key, found.st_size, found.st_mtime_ns, tag)


def _by_key(entry: os.DirEntry[str]) -> str:
    return entry.name + "/" if disk.is_directory(entry) else entry.name


def _changed(where: Location | None) -> MoxFileReadException:
    return MoxFileReadException(
        f"{where or 'the local file'} changed while it was being read",
        url=str(where) if where else None,
    )
