"""Records the result of each file of a copy, and logs progress."""

from __future__ import annotations

import errno
import logging
import threading
import time
from dataclasses import dataclass

from moxing.framework.file.errors import Failure, MoxFileConnectionException, MoxFileError
from moxing.framework.file.store import answers

TELL_EVERY = 10.0
# The error of a full disk does not name the file that could not be written.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# Users of these systems look for lines of the root logger. `logging.info` would install a handler,
# so use the logger itself.
ROOT = logging.getLogger()
SKIPPED = "not tried after the errors above"


@dataclass(frozen=True, slots=True)
class Job:
    """A file to copy.

    Attributes:
      src, dst: local paths or URLs.
      size: the size in bytes; negative: unknown.
      tag: a value that changes with the source, as far as a listing shows.
      number: the index that identifies the job between processes.
    """

    src: str
    dst: str
    size: int = -1
    tag: str = ""
    number: int = 0


class Ledger:
    """The results of `total` files; thread-safe.

    Attributes:
      files, size: the number of files copied, and their total bytes.
      failed: the files that were not copied.
      errors: the errors of these files that occurred in this process.
      hopeless: whether an error implies that all other files would fail, too.
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
        """Records that `job`, of `size` bytes, was copied."""
        del job
        with self._lock:
            self.files += 1
            self.size += size

    def fail(self, job: Job, error: Exception) -> None:
        """Records that `job` failed with `error`."""
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            error.filename = job.dst
        with self._lock:
            self.errors.append(error)
        self.note(job, str(error), is_hopeless(error))

    def note(self, job: Job, reason: str, hopeless: bool) -> None:
        """Records that `job` failed, in this or another process."""
        with self._lock:
            self.failed.append(Failure(job.src, job.dst, reason))
            self.hopeless = self.hopeless or hopeless

    def tell(self) -> None:
        """Logs the progress, at most every ten seconds."""
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
    """Whether all other files would fail, too: the store is unreachable or rejects the keys."""
    if isinstance(error, MoxFileConnectionException):
        return True
    code = error.resp.errorCode if isinstance(error, MoxFileError) and error.resp else ""
    return code in answers.HOPELESS
