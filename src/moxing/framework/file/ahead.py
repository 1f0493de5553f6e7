"""Reads or fetches many files in order, and prefetches the next files while one is used."""

from __future__ import annotations

import collections
import os
import tempfile
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from typing import TypeVar

from moxing.framework.file import changes, content
from moxing.framework.file.configuration import tuning
from moxing.framework.file.urls import is_remote

_SMALL, _LARGE = 16, 1  # The numbers of files to prefetch.

_Item = TypeVar("_Item")


def contents(paths: Iterable[str]) -> Generator[bytes, None, None]:
    """Yields the content of each of many small files. Raises OSError if a file can't be read."""
    return each(paths, lambda path: content.read(path, binary=True), _SMALL)


def copies(paths: Iterable[str]) -> Generator[str, None, None]:
    """Yields the path of a local copy of each file, which exists until the next one is yielded.

    Local files are not copied. At most two copies are on the disk at once.

    Raises:
      OSError: a file can't be copied.
    """
    with tempfile.TemporaryDirectory(prefix=".mox-ahead-", dir=tuning.staging_dir()) as folder:

        def fetch(path: str) -> str:
            if not is_remote(path):
                return path
            local = os.path.join(tempfile.mkdtemp(dir=folder), path.rpartition("/")[2])
            changes.copy(path, local)
            return local

        with closing(each(paths, fetch, _LARGE)) as found:
            for local in found:
                yield local
                if os.path.dirname(os.path.dirname(local)) == folder:
                    with suppress(OSError):
                        os.remove(local)


def each(
    paths: Iterable[str], work: Callable[[str], _Item], count: int
) -> Generator[_Item, None, None]:
    """Yields `work(path)` for each path in order, computed up to `count` paths ahead."""
    waiting: collections.deque[Future[_Item]] = collections.deque()
    with ThreadPoolExecutor(count) as pool:
        try:
            for path in paths:
                waiting.append(pool.submit(work, path))
                if len(waiting) > count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
