"""Writes `metrics.jsonl`: whole lines only, each step once, however earlier runs ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator

from moxing.engine.reporting.records import line as lines
from moxing.engine.reporting.records.line import INTER, TRAIN, Line
from moxing.engine.wording.record_files import METRICS
from moxing.framework import private
from moxing.framework.atomic import replace
from moxing.logs import TENSORFLOW

# The beginning of lines about steps, which a resumed run may write again.
_HEAD = re.compile(
    rb'\{"kind": "(%s|%s)", "global_step": (\d+)[,}]' % (TRAIN.encode(), INTER.encode())
)
_LONGEST = 1 << 20  # Bytes at the end of the file in which an unfinished line is looked for.


class Journal:
    """Appends lines to the metrics of a directory.

    Each line is one call of the kernel, so a process that is killed leaves whole lines. A full disk
    or a missing permission costs the lines and not the run: the first failure is logged, and later
    lines are dropped.

    Args:
        log_dir: where the file is; None: nothing is written.
        clock: seconds since 1970.
    """

    def __init__(self, log_dir: str | None, clock: Callable[[], float] = time.time) -> None:
        self._log_dir = log_dir
        self._clock = clock
        self._file: int | None = None

    @property
    def open(self) -> bool:
        """Whether lines are written."""
        return self._file is not None

    def start(self, resumed_at: int | None = None) -> None:
        """Opens the file, and removes the lines that a killed run wrote after its last checkpoint.

        Args:
            resumed_at: the global step at which a training goes on: steps from there on will be
                logged again. None: nothing is removed but an unfinished line.
        """
        if self._log_dir is None:
            return
        path = os.path.join(self._log_dir, METRICS)
        with self._surviving():
            os.makedirs(self._log_dir, exist_ok=True)
            self._file = _opened(path)
            if resumed_at is not None and _forget(self._file, path, resumed_at):
                os.close(self._file)
                self._file = _opened(path)
            with _alone(self._file):
                _drop_unfinished(self._file)

    def write(self, line: Line) -> None:
        """Appends a line, with the time of now."""
        if self._file is None:
            return
        stamped = Line(line.kind, line.step, line.values, line.facts, line.name, self._clock())
        with self._surviving():
            os.write(self._file, lines.encode(stamped))

    def close(self) -> None:
        """Closes the file; later calls of `write` do nothing."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                os.close(file)

    @contextlib.contextmanager
    def _surviving(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.close()
            TENSORFLOW.warning(
                "Metrics can't be written to %s (%s). The run goes on without them.",
                self._log_dir,
                error.strerror or error,
            )


def _opened(path: str) -> int:
    return private.open_to_write(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)


def _forget(opened: int, path: str, step: int) -> bool:
    """Removes the steps that are to come from the file; False: the file has no such steps."""
    with os.fdopen(os.dup(opened), "rb") as file:
        if not any(_comes_again(text, step) for text in file):
            return False
        file.seek(0)
        replace(path, (text for text in file if not _comes_again(text, step)))
    return True


def _comes_again(text: bytes, step: int) -> bool:
    """Whether a line is incomplete, or will be written again; JSON is not parsed, for speed."""
    if not text.endswith(b"\n"):
        return True
    head = _HEAD.match(text)
    if head is None:
        return False
    kind, known = head[1].decode(), int(head[2])
    return known >= step if kind == TRAIN else known > step


def _drop_unfinished(file: int) -> None:
    """Truncates the file after its last whole line."""
    size = os.fstat(file).st_size
    tail = os.pread(file, min(size, _LONGEST), max(size - _LONGEST, 0))
    if tail and not tail.endswith(b"\n"):
        os.ftruncate(file, size - len(tail) + tail.rfind(b"\n") + 1)


@contextlib.contextmanager
def _alone(file: int) -> Iterator[None]:
    """Locks the file against other runs, unless the file system has no locks."""
    with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
