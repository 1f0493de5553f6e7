"""Keeps a copy of a directory up to date in a background thread."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time

from moxing.errors import MoxValueError
from moxing.framework.file.configuration import settings
from moxing.framework.file.copying import trees
from moxing.framework.file.urls import PathLike, is_remote, named, text

_LOG = logging.getLogger(__name__)


class BackgroundSync:
    """Copies the new and changed files of a directory in regular rounds.

    Args:
      src: the directory, local or in a store; it need not exist yet.
      dst: the directory of the copy.
      seconds: the time between the end of a round and the start of the next one.
    """

    def __init__(self, src: str, dst: str, seconds: float) -> None:
        self.src = src
        self.dst = dst
        self.seconds = seconds
        self._copied: dict[str, tuple[int, str]] = {}
        self._stop = threading.Event()
        self._round = threading.Lock()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._serve, name="mox-file-sync", daemon=True)

    def start(self) -> None:
        """Starts the thread; the first round comes after `seconds`."""
        self._thread.start()
        atexit.register(self.stop)

    def sync(self) -> int:
        """Runs a round now, and returns the number of files copied.

        Raises:
          OSError: a file was not copied. The next round tries it again.
        """
        with self._round:
            if not is_remote(self.src) and not os.path.isdir(self.src):
                return 0
            plan = trees.plan_tree(self.src, self.dst)
            marks = {job.src: (job.size, job.tag) for job in plan.jobs}
            plan.jobs = [job for job in plan.jobs if self._copied.get(job.src) != marks[job.src]]
            if not plan.total:
                return 0
            ledger = trees.run(plan, self.dst, trees.THREADS, 1, True)
            failed = {item.src for item in ledger.failed}
            done = [job for job in plan.jobs if job.src not in failed]
            self._copied.update((job.src, marks[job.src]) for job in done)
            trees.check(ledger, plan, self.dst)
            return len(done)

    def stop(self) -> None:
        """Runs a last round, and ends. Also called at the end of the program."""
        atexit.unregister(self.stop)
        if self._stop.is_set() or os.getpid() != self._process:
            return
        self._stop.set()
        self._try()

    def _serve(self) -> None:
        while not self._stop.wait(self.seconds):
            self._try()

    def _try(self) -> None:
        began = time.monotonic()
        try:
            count = self.sync()
        except Exception as error:  # noqa: BLE001 (the program must not stop for a copy)
            _LOG.warning("Copying %s to %s in the background: %s", self.src, self.dst, error)
            return
        if count:
            took = time.monotonic() - began
            _LOG.info("Copied %d changed files to %s in %.1f s", count, self.dst, took)


def background_sync_copy(
    src_url: PathLike, dst_url: PathLike, seconds: float = 120
) -> BackgroundSync:
    """Copies new and changed files of a directory every `seconds`, and once more at the end.

    Errors are logged, and the next round tries the files again; the program continues.

    Args:
      src_url: the directory to copy; it need not exist yet.
      dst_url: the directory of the copy, in which nothing is deleted.
      seconds: the time between two rounds, above 0.

    Returns:
      The running copy; its `sync()` runs a round at once, and its `stop()` ends it.

    Raises:
      MoxValueError: `seconds` is not above 0, or both are the same directory.
    """
    src, dst = text(src_url), named(dst_url)
    if not seconds > 0:
        raise MoxValueError(f"background_sync_copy(seconds={seconds!r}) must be above 0")
    if src.rstrip("/") == dst.rstrip("/"):
        raise MoxValueError(f"background_sync_copy() can't copy {src} onto itself")
    for path in (src, dst):
        if is_remote(path):
            settings.needs_endpoint(settings.current(), path)
    running = BackgroundSync(src, dst, seconds)
    running.start()
    return running
