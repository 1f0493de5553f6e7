"""Copies files between the local disk and a store, large files in parallel parts."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from moxing.framework.file import disk
from moxing.framework.file.configuration import tuning
from moxing.framework.file.configuration.settings import Settings
from moxing.framework.file.copying import pool
from moxing.framework.file.copying.ledger import SKIPPED, Job, Ledger
from moxing.framework.file.copying.split import Split
from moxing.framework.file.errors import MoxFileIsDirectoryException, MoxFileRespException
from moxing.framework.file.store import parts
from moxing.framework.file.store.protocol import Info, Span, Store
from moxing.framework.file.store.serving import store_for
from moxing.framework.file.urls import Location, is_remote, parse


def run(
    jobs: Iterable[Job],
    threads: int,
    settings: Settings,
    ledger: Ledger,
    watch: Callable[[], None] | None = None,
) -> None:
    """Copies `jobs`, and records each result in `ledger`. A failed file raises no error.

    Args:
      jobs: the files to copy.
      threads: the number of files, or parts of files, copied at once; 0: all in this thread.
      settings: the settings of the store.
      ledger: records the result of every file.
      watch: called about once a second.
    """
    copying = _Run(threads, settings, ledger)
    pool.run((copying.unit(job) for job in jobs), threads, watch, copying.drop)


def copy_one(src: str, dst: str, settings: Settings) -> None:
    """Copies one file, a large file in parallel parts.

    Raises:
      OSError: the file could not be copied; the destination is unchanged.
    """
    ledger = Ledger(1)
    copying = _Run(tuning.current().tasks, settings, ledger)
    # A small file is finished by its first unit, and needs no threads.
    more = copying.unit(Job(src, dst))() or ()
    pool.run(more, min(copying.threads, len(more)), leave=copying.drop)
    if ledger.errors:
        raise ledger.errors[0]


def assemble(
    store: Store,
    where: Location,
    spans: Sequence[Span],
    ready: Callable[[], None] | None = None,
) -> None:
    """Creates an object from `spans`, in parallel parts.

    Args:
      store: the store of the object.
      where: the location of the object.
      spans: the spans that the object consists of.
      ready: called before the object is put in place; an error that it raises prevents that.

    Raises:
      OSError: the object could not be created; the old object, if any, is unchanged.
    """
    ledger = Ledger(1)
    made = store.assemble(where, spans)

    def finish() -> None:
        if ready is not None:
            ready()
        made.finish()

    if not made.parts:
        finish()
        return
    job = Job(str(where), str(where))
    split = Split(job, 0, made.parts, finish, made.abort, ledger)
    threads = min(tuning.current().tasks, len(made.parts))
    pool.run(split.units(), threads, leave=split.drop)
    if ledger.errors:
        raise ledger.errors[0]


@dataclass
class _Run:
    threads: int
    settings: Settings
    ledger: Ledger
    _splits: list[Split] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def drop(self) -> None:
        """Abandons unfinished files."""
        for split in self._splits:
            split.drop()

    def unit(self, job: Job) -> pool.Unit:
        """Returns the first unit of `job`."""

        def begin() -> Sequence[pool.Unit]:
            if self.ledger.hopeless:
                self.ledger.note(job, SKIPPED, hopeless=True)
                return ()
            try:
                split = self._begin(job)
            except (OSError, ValueError) as error:
                self.ledger.fail(job, error)
                return ()
            if isinstance(split, int):
                self.ledger.done(job, split)
                return ()
            with self._lock:
                self._splits = [item for item in self._splits if item.pending] + [split]
            return split.units()

        return begin

    def _begin(self, job: Job) -> int | Split:
        """Copies a small file and returns its size, or splits a large file into parts."""
        if is_remote(job.src):
            src = parse(job.src)
            store = store_for(src, self.settings)
            if is_remote(job.dst):
                return self._inside(store, src, parse(job.dst), job)
            return self._download(store, src, job)
        if is_remote(job.dst):
            dst = parse(job.dst)
            return self._upload(store_for(dst, self.settings), dst, job)
        with _reading(job.src) as fd, disk.replacing(job.dst, like=job.src) as out:
            return disk.copy_span(fd, 0, os.fstat(fd).st_size, out, 0)

    def _upload(self, store: Store, dst: Location, job: Job) -> int | Split:
        fd = _open(job.src)
        try:
            size = os.fstat(fd).st_size
            made = store.assemble(dst, [Span(0, size, fd)])
            if not made.parts:
                made.finish()
                os.close(fd)
                return size
        except BaseException:
            os.close(fd)
            raise

        def finish() -> None:
            made.finish()
            os.close(fd)

        def abort() -> None:
            made.abort()
            os.close(fd)

        return Split(job, size, made.parts, finish, abort, self.ledger)

    def _download(self, store: Store, src: Location, job: Job) -> int | Split:
        size, etag, sizes = job.size, "", tuning.current()
        if self.threads > 1 and (size < 0 or size > sizes.split_above):
            # A listing may be outdated, so ask for the object itself before it is split.
            found = store.head(src)
            size, etag = (found.size, found.etag) if found else (0, "")
        if self.threads <= 1 or size <= sizes.split_above:
            with disk.replacing(job.dst) as fd:
                store.fetch(src, fd)
                return os.fstat(fd).st_size
        stack = contextlib.ExitStack()
        fd = stack.enter_context(disk.replacing(job.dst))

        def abort() -> None:
            with contextlib.suppress(_Dropped):
                stack.__exit__(_Dropped, _Dropped(), None)

        # Use one range per thread, unless the ranges would be too small or too large.
        step = max(sizes.part_size, min(-(-size // self.threads), parts.COPY_PART))
        work = [
            _fetcher(store, src, fd, Span(at, min(at + step, size)), etag)
            for at in range(0, size, step)
        ]
        return Split(job, size, work, stack.close, abort, self.ledger)

    def _inside(self, store: Store, src: Location, dst: Location, job: Job) -> int | Split:
        info = Info(src.key, max(job.size, 0))
        if job.size < 0 or job.size > parts.COPY_PART:
            info = store.head(src) or info
        if info.size <= parts.COPY_PART:
            store.copy(src, dst, info)
            return info.size
        made = store.assemble(dst, [Span(0, info.size, where=src, etag=info.etag)])
        if not made.parts:
            made.finish()
            return info.size
        return Split(job, info.size, made.parts, made.finish, made.abort, self.ledger)


class _Dropped(Exception):
    """Signals to a context manager that its work failed."""


def _fetcher(store: Store, src: Location, fd: int, span: Span, etag: str) -> Callable[[], None]:
    return lambda: store.fetch(src, fd, span, etag)


def _open(path: str) -> int:
    found = os.stat(path).st_mode
    if stat.S_ISDIR(found):
        raise MoxFileIsDirectoryException(f"{path} is a directory, not a file", url=path)
    # A pipe or device would block or never end.
    if not stat.S_ISREG(found):
        raise MoxFileRespException(f"{path} is no regular file and can't be copied", url=path)
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def _reading(path: str) -> Iterator[int]:
    fd = _open(path)
    try:
        yield fd
    finally:
        os.close(fd)
