"""Reads or fetches many files of a store in their order, the next ones while one is used."""

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

_SMALL, _LARGE = 16, 1  # Files that are under way while one is used.

_Item = TypeVar("_Item")


def contents(paths: Iterable[str]) -> Generator[bytes, None, None]:
    """What is in each of many small files. Raises OSError for one that can't be read."""
    return each(paths, lambda path: content.read(path, binary=True), _SMALL)


def copies(paths: Iterable[str]) -> Generator[str, None, None]:
    """A local copy of each file, which is there until the next is asked for.

    Local files stand for themselves. At most two copies are on the disk at a time.

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
    """What `work` makes of each path, in order, `count` of them ahead of the one that is used."""
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
