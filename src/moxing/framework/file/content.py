"""Reads and writes whole files in one call."""

from __future__ import annotations

import time
from typing import Any

from moxing.errors import MoxTypeError
from moxing.framework import backoff
from moxing.framework.file import changes, status
from moxing.framework.file.copying import transfer
from moxing.framework.file.errors import MoxFileIsDirectoryException
from moxing.framework.file.handle import File, open_whole
from moxing.framework.file.store.protocol import Span
from moxing.framework.file.store.serving import store_for
from moxing.framework.file.store.writer import ChangedError
from moxing.framework.file.urls import PathLike, is_remote, parse, text

CHUNK = 8 << 20
# The number of attempts to append while other processes append.
APPENDS = 10


def read(url: PathLike, client_id: object = None, binary: bool = False) -> Any:
    """Returns the whole content of a file: text, or bytes with `binary`.

    Args:
      url: a local path or URL.
      client_id: not used, accepted for old scripts.
      binary: whether to return bytes.

    Raises:
      MoxFileNotExistsException: there is no such file.
    """
    del client_id
    if binary:
        with open_whole(text(url)) as file:
            return file.read()
    with File(url, "r") as file:
        return file.read()


def write(url: PathLike, data: str | bytes, binary: bool = False) -> None:
    """Creates or replaces a file with text, or with bytes if `binary` is true.

    Raises:
      MoxTypeError: `data` is bytes and `binary` is false, or the other way round.
    """
    _put(url, data, binary, "w")


def append(url: PathLike, data: str | bytes, binary: bool = False) -> None:
    """Appends to a file, which is created if it does not exist.

    In a store, the store itself joins the old and the new content if the old content is long. If
    the object was changed meanwhile, the operation is repeated with the new object.

    Raises:
      MoxFileRespException: other processes keep changing the object.
      MoxTypeError: `data` is bytes and `binary` is false, or the other way round.
    """
    _put(url, data, binary, "a")


def append_remote(src_url: PathLike, dst_url: PathLike) -> None:
    """Appends the whole file `src_url` to the file `dst_url`.

    Between files of a store, no data passes through this machine. `dst_url` is created if it does
    not exist.

    Raises:
      MoxFileNotExistsException: there is no `src_url`.
      MoxFileIsDirectoryException: one of the paths is a directory.
    """
    src, dst = text(src_url), text(dst_url)
    if is_remote(src) and is_remote(dst):
        where, to = parse(src), parse(dst)
        store = store_for(where)
        for place in (where, to):
            if place.names_directory:
                raise MoxFileIsDirectoryException(f"{place} is a directory", url=str(place))
        more = store.head(where)
        if more is None:
            raise status.missing(src)
        there = store.head(to)
        if there is None:
            changes.copy(src, dst)
            return
        spans = [
            Span(0, there.size, where=to, etag=there.etag),
            Span(0, more.size, where=where, etag=more.etag),
        ]
        transfer.assemble(store, to, spans)
        return
    with open_whole(src) as file, File(dst, "ab") as out:
        # Copy only the current size: otherwise a file appended to itself would never end.
        left = file.size()
        while data := file.read(min(CHUNK, left)):
            out.write(data)
            left -= len(data)


def _put(url: PathLike, data: str | bytes, binary: bool, mode: str) -> None:
    if binary and isinstance(data, str):
        raise MoxTypeError(
            f"text was given for {text(url)} and binary=True; encode it, or leave binary out"
        )
    if not binary and isinstance(data, bytes | bytearray | memoryview):
        raise MoxTypeError(f"bytes were given for {text(url)}; pass binary=True to write bytes")
    for tried in range(1, APPENDS + 1):
        try:
            with File(url, f"{mode}b" if binary else mode) as file:
                file.write(data)
            return
        except ChangedError:
            if tried == APPENDS:
                raise
        time.sleep(backoff.pause(tried, 0.05))
