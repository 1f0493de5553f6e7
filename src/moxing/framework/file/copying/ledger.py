"""Files to copy, what became of each, and a line in the log now and then."""

from __future__ import annotations

import errno
import logging
import threading
import time
from dataclasses import dataclass

from moxing.framework.file.errors import Failure, MoxFileConnectionException, MoxFileError
from moxing.framework.file.store import answers

TELL_EVERY = 10.0
# A full disk does not say of itself what could not be written.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# What users of these systems look for in their logs is said by the root logger. Not by
# `logging.info`, which would install a handler.
ROOT = logging.getLogger()
SKIPPED = "not tried after the errors above"


@dataclass(frozen=True, slots=True)
class Job:
    """One file to copy.

    Attributes:
      src, dst: local paths or URLs.
      size: bytes, as far as known; negative where nobody has looked.
      tag: changes whenever the source does, as far as a listing tells.
      number: tells jobs apart between processes.
    """

    src: str
    dst: str
    size: int = -1
    tag: str = ""
    number: int = 0


class Ledger:
    """What became of each of `total` files. Safe to use from many threads.

    Attributes:
      files, size: how many files were copied, and their bytes.
      failed: the files that were not.
      errors: what kept them from it, where it happened in this process.
      hopeless: whether an error says that no other file would fare better.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.files = 0
        self.size = 0
        self.failed: list[Failure] = []
        self.errors: list[Exception] = []
        self.hopeless = False
        self._lock = threading.Lock()
        self._began = self._told = time.monotonic()

    def done(self, job: Job, size: int) -> None:
        """`job` was copied; it has `size` bytes."""
        del job
        with self._lock:
            self.files += 1
            self.size += size

    def fail(self, job: Job, error: Exception) -> None:
        """`job` failed with `error`."""
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            error.filename = job.dst
        with self._lock:
            self.errors.append(error)
        self.note(job, str(error), is_hopeless(error))

    def note(self, job: Job, reason: str, hopeless: bool) -> None:
        """`job` failed, here or in another process."""
        with self._lock:
            self.failed.append(Failure(job.src, job.dst, reason))
            self.hopeless = self.hopeless or hopeless

    def tell(self) -> None:
        """Logs how far it is, every ten seconds."""
        now = time.monotonic()
        if now - self._told < TELL_EVERY:
            return
        self._told = now
        seconds = max(now - self._began, 1e-9)
        ROOT.info(
            "Copied %d of %d files, %.1f MB (%.1f files/s, %.1f MB/s)%s",
            self.files,
            self.total,
            self.size / 1e6,
            self.files / seconds,
            self.size / 1e6 / seconds,
            f", {len(self.failed)} failed" if self.failed else "",
        )


def is_hopeless(error: Exception) -> bool:
    """Whether no other file would fare better: the store is away, or does not know the keys."""
    if isinstance(error, MoxFileConnectionException):
        return True
    code = error.resp.errorCode if isinstance(error, MoxFileError) and error.resp else ""
    return code in answers.HOPELESS
