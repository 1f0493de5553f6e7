"""Finds the runs below folders, and reads the last step and the end of each run."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from moxing.engine.reporting.records import run_file
from moxing.engine.reporting.records.history import History, of_lines
from moxing.engine.wording import report
from moxing.engine.wording.record_files import LOCK, METRICS, RUN
from moxing.errors import MoxValueError, shown
from moxing.framework import file as mox_file
from moxing.logs import TENSORFLOW

RUNNING: Final = "running"
CUT_OFF: Final = "cut off"
EVALUATED: Final = "evaluated"
UNREADABLE: Final = "unreadable"
_DEEPEST: Final = 8  # The depth of nested folders that are searched.
_LONGEST: Final = (
    30.0  # Seconds of one search; `mox runs /` on a disk in a network would take hours.
)
_KERNEL: Final = ("/proc", "/sys")  # Here the kernel makes folders by the thousand, and no run.
# A run on another machine, whose lock cannot be seen here, counts as running for so many seconds
# after its last line.
_RECENT: Final = 120.0
_ROUNDED: Final = 0.001  # Seconds; lines of metrics hold whole milliseconds.


@dataclass(frozen=True)
class Run:
    """A run that left records.

    Attributes:
        path: its folder, below the folder that was asked for.
        history: the measured values.
        settings: its job's fields and its flags, the program's too, by name; empty before the first
            end of a run.
        outcome: how its last training ended, as `run.json` says: `end`, `error`, `started`,
            `ended`, `last_step`, `seconds`.
        locked: whether a process of this machine trains in the folder now.
    """

    path: str
    history: History
    settings: Mapping[str, Any] = field(default_factory=dict)
    outcome: Mapping[str, Any] = field(default_factory=dict)
    locked: bool = False

    @property
    def step(self) -> int | None:
        """The global step that the run reached, as far as its records say; None: not known."""
        steps = [line.steps[-1] for line in self.history.curves.values() if len(line)]
        steps += [line.step for line in self.history.evaluations]
        last = self.outcome.get("last_step")
        if isinstance(last, int):
            steps.append(last)
        return max(steps, default=None)

    @property
    def end(self) -> str:
        """How the run ended: `finished`, `failed`, `stopped by SIGTERM`, or a constant from above.

        A run that was cut off recorded no end: the process was killed, or its machine failed. A
        folder in which only evaluations left records was evaluated.
        """
        if self.locked:
            return RUNNING
        if self.outcome.get("end") == UNREADABLE:
            return UNREADABLE
        ended = self.outcome.get("ended")
        if isinstance(ended, int | float) and self.history.trained <= ended + _ROUNDED:
            return str(self.outcome.get("end", "?"))
        if not self.history.trained:
            return EVALUATED
        recent = time.time() - self.history.trained < _RECENT
        return RUNNING if recent and not _has_lock(self.path) else CUT_OFF

    @property
    def end_told(self) -> str:
        """Returns the end, with the error of a run that failed or whose records can't be read."""
        error = self.outcome.get("error")
        told = error and self.end in ("failed", UNREADABLE)
        return f"{self.end}: {error}" if told else self.end

    @property
    def duration(self) -> str:
        """The time that the last training spent in its steps, as text; empty if not known."""
        seconds = self.outcome.get("seconds")
        return report.duration(seconds) if isinstance(seconds, int | float) else ""

    @property
    def values(self) -> dict[str, float]:
        """The last value of each name: of log lines, then of evaluations (`accuracy`)."""
        last = {name: line.values[-1] for name, line in self.history.curves.items() if len(line)}
        for (_, name), line in self.history.evaluated.items():
            last[name if name not in last else f"eval {name}"] = line.values[-1]
        return last

    @property
    def when(self) -> float:
        """The time of the run's last action, in seconds since 1970; 0 if not known."""
        ended = self.outcome.get("ended")
        return max(self.history.trained, float(ended) if isinstance(ended, int | float) else 0.0)


def find(roots: Sequence[str], seconds: float = _LONGEST) -> list[Run]:
    """Returns the runs in these folders and below them, each run once, in the order of their paths.

    Args:
        roots: local folders or URLs.
        seconds: how long folders are searched at most; a warning says where the search ended.

    A run whose records can't be read is listed with the reason as its end.

    Raises:
        MoxValueError: a folder does not exist.
    """
    until = time.monotonic() + seconds
    paths = dict.fromkeys(path for root in roots for path in _folders(root, until))
    return [_read_or_told(path) for path in paths]


def _read_or_told(path: str) -> Run:
    try:
        return read(path)
    except MoxValueError as error:
        return Run(path, of_lines([]), {}, {"end": UNREADABLE, "error": str(error)})


def read(path: str) -> Run:
    """Reads the run of one folder.

    Raises:
        MoxValueError: the folder holds no records of a run.
    """
    content = _content(os.path.join(path, METRICS))
    facts = run_file.decode(_content(os.path.join(path, RUN)) or b"") or {}
    if content is None and not facts:
        raise MoxValueError(
            f"{path} holds no records of a run: neither {METRICS} nor {RUN}. Give the log_dir of a"
            " run; `mox runs FOLDER` lists the runs below a folder."
        )
    settings = {**facts.get("job", {}), **_flags_of_program(facts), **facts.get("flags", {})}
    history = of_lines((content or b"").splitlines(keepends=True))
    return Run(path, history, settings, facts.get("outcome", {}), _is_locked(path))


def _flags_of_program(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the program's own flags, by name with dashes; none of an earlier record."""
    program = facts.get("program")
    values = program.get("flags") if isinstance(program, dict) else None
    return {f"--{name}": v for name, v in values.items()} if isinstance(values, dict) else {}


def _folders(root: str, until: float) -> Iterator[str]:
    if not mox_file.is_directory(root):
        raise MoxValueError(
            f"There is no folder {root}. Give the folder that holds the runs' log_dirs."
        )
    depth = root.rstrip("/").count("/")
    for number, (folder, below, names) in enumerate(mox_file.walk(root)):
        if METRICS in names or RUN in names:
            yield folder
        if time.monotonic() > until:
            TENSORFLOW.warning(
                "The search below %s ended at %s, its folder number %d: it took too long. Name the"
                " folders that hold the runs' log_dirs, to see all of their runs.",
                shown(root),
                shown(folder),
                number + 1,
            )
            return
        deep = folder.rstrip("/").count("/") - depth >= _DEEPEST
        below[:] = [] if deep else sorted(name for name in below if _is_searched(folder, name))


def _is_searched(folder: str, name: str) -> bool:
    return not name.startswith(".") and os.path.join(folder, name) not in _KERNEL


def _content(path: str) -> bytes | None:
    try:
        # Opening a named pipe would wait for a writer, and a device has no end.
        if not mox_file.is_remote(path) and not stat.S_ISREG(os.stat(path).st_mode):
            raise MoxValueError(f"{path} is no file. Remove it to see the rest of this run.")
        return mox_file.read(path, binary=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MoxValueError(f"{path} can't be read: {error.strerror or error}.") from error


def _has_lock(path: str) -> bool:
    """Whether the folder is local and has the lock file of a training run."""
    return not mox_file.is_remote(path) and os.path.exists(os.path.join(path, LOCK))


def _is_locked(path: str) -> bool:
    """Whether a process of this machine holds the lock of a run's folder.

    The kernel's list of locks is read, because taking the lock, even for a moment, could refuse a
    run that starts now. Overlay file systems list another device, so only inodes are compared.
    """
    try:
        inode = os.stat(os.path.join(path, LOCK)).st_ino
        with open("/proc/locks", encoding="ascii") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return False
    return any(f":{inode} " in line for line in lines)
