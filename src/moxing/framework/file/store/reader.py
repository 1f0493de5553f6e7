"""Reads an object as a raw stream, in growing blocks with prefetching."""

from __future__ import annotations

import io
from concurrent.futures import Future

from moxing.framework.file import status
from moxing.framework.file.configuration.tuning import MIB
from moxing.framework.file.errors import MoxFileIsDirectoryException, MoxFileNotExistsException
from moxing.framework.file.store.protocol import Info, Store
from moxing.framework.file.urls import Location

FIRST_BLOCK = MIB // 4
LARGEST_BLOCK = 8 * MIB
AHEAD_LIMIT = 120.0


class ObjectReader(io.RawIOBase):
    """The bytes of an object at the time when it was opened.

    In sequential reads, each block is twice as large as the previous one, up to 8 MiB, and the next
    block is prefetched. After a jump, blocks are small again. So a whole read is fast, a small read
    is cheap, and at most three blocks are held.

    Args:
      store: the store of the object.
      where: the location of the object.
      first: the size of the first block in bytes.

    Raises:
      MoxFileNotExistsException: there is no such object.
      MoxFileIsDirectoryException: `where` is a directory.
    """

    def __init__(self, store: Store, where: Location, first: int = FIRST_BLOCK) -> None:
        super().__init__()
        self.name = str(where)
        self.mode = "rb"
        self._store = store
        self._where = where
        self._step = first
        self._at = 0
        self._start = 0
        self._ahead: tuple[int, Future[tuple[Info, bytes]]] | None = None
        self._info, self._block = self._open()

    def _open(self) -> tuple[Info, bytes]:
        if not self._where.names_directory:
            try:
                return self._store.read(self._where, 0, self._step, "")
            except MoxFileNotExistsException:
                if not self._store.is_directory(self._where):
                    raise
        elif not self._store.is_directory(self._where):
            raise status.missing(self.name)
        raise MoxFileIsDirectoryException(f"{self.name} is a directory", url=self.name)

    @property
    def size(self) -> int:
        """The size of the object in bytes."""
        return self._info.size

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Returns the position of the next byte."""
        self._check()
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Changes the position, which may be after the end."""
        self._check()
        if whence not in (io.SEEK_SET, io.SEEK_CUR, io.SEEK_END):
            raise ValueError(f"seek(whence={whence!r}): 0, 1 or 2 is needed")
        base = (0, self._at, self.size)[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: memoryview | bytearray) -> int:  # type: ignore[override]
        """Fills `buffer` from the current block; returns the number of bytes, 0 at the end."""
        self._check()
        if self._at >= self.size or not len(buffer):
            return 0
        if not self._start <= self._at < self._start + len(self._block):
            self._load()
        offset = self._at - self._start
        data = memoryview(self._block)[offset : offset + len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def readall(self) -> bytes:
        """Reads the rest of the object."""
        self._check()
        pieces: list[bytes] = []
        while self._at < self.size:
            if not self._start <= self._at < self._start + len(self._block):
                self._load()
            pieces.append(self._block[self._at - self._start :])
            self._at += len(pieces[-1])
        return b"".join(pieces)

    def close(self) -> None:
        """Releases the held blocks."""
        self._ahead = None
        self._block = b""
        super().close()

    def _load(self) -> None:
        follows = self._at == self._start + len(self._block) and self._at > 0
        self._step = min(self._step * 2, LARGEST_BLOCK) if follows else FIRST_BLOCK
        stop = min(self._at + self._step, self.size)
        data = self._taken(self._at)
        if data is None:
            data = self._store.read(self._where, self._at, stop, self._info.etag)[1]
        self._start, self._block = self._at, data
        after = self._start + len(data)
        if follows and after < self.size:
            far = min(after + min(self._step * 2, LARGEST_BLOCK), self.size)
            asked = self._store.read_ahead(self._where, after, far, self._info.etag)
            self._ahead = (after, asked)

    def _taken(self, at: int) -> bytes | None:
        """Returns the prefetched block if it has the right position and was read without error."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or ahead[0] != at:
            return None
        try:
            data = ahead[1].result(AHEAD_LIMIT)[1]
        except Exception:
            # This was a single attempt; the caller now makes as many as the settings allow.
            return None
        return data or None

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")
