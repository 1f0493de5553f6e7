"""Lets only one run at a time train in a directory."""

from __future__ import annotations

import datetime
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from moxing.engine.wording.option_names import option
from moxing.engine.wording.record_files import LOCK
from moxing.errors import MoxRuntimeError, escaped
from moxing.framework.atomic import replace
from moxing.logs import TENSORFLOW

_HOLDER = ".mox.lock.json"


class Held:
    """A lock that this process has taken, and the identity of its file at that time.

    Args:
        path: the lock file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = _identity(path)

    def check(self) -> None:
        """Raises if the directory is no longer the one that was locked.

        Raises:
            MoxRuntimeError: the directory was removed, and perhaps made again by another run.
        """
        if self._file != _identity(self._path):
            raise MoxRuntimeError(
                f"{os.path.dirname(self._path)} was removed or replaced while this run trained in"
                " it; another run may train there now. Nothing was saved there. Start again, with a"
                f" {option('log_dir')} of its own for each run."
            )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def lock(directory: str | Path) -> Iterator[Held]:
    """Holds the exclusive lock of a directory for the block.

    The kernel releases the lock when the process ends. On a file system without locks, a warning is
    logged and the block runs without a lock. Call `Held.check` before each save.

    Args:
        directory: an existing directory.

    Raises:
        MoxRuntimeError: another run, of this process or of another one, holds the lock.
    """
    import filelock  # Takes 0.2 s after TensorFlow, and only training needs it.

    root = os.fspath(directory)
    # A soft lock, which is only a file, would outlive a killed process.
    held = filelock.FileLock(
        os.path.join(root, LOCK), blocking=False, thread_local=False, fallback_to_soft=False
    )
    try:
        held.acquire()
        fault = None
    except filelock.Timeout:
        raise MoxRuntimeError(_refusal(root)) from None
    except (OSError, NotImplementedError) as error:
        fault = error
    if fault is not None:
        TENSORFLOW.warning(
            "Can't lock %s (%s): make sure that no other run trains in it.", root, fault
        )
        yield Held(os.path.join(root, LOCK))
        return
    holder = os.path.join(root, _HOLDER)
    taken = Held(os.path.join(root, LOCK))
    try:
        _introduce(holder)
        yield taken
    finally:
        with suppress(OSError, MoxRuntimeError):
            taken.check()  # Raises where the directory, and so the note, is another run's.
            os.remove(holder)
        held.release()


def is_held(directory: str | Path) -> bool:
    """Whether the directory has the note of a training run; a killed run leaves its note behind."""
    return os.path.exists(os.path.join(directory, _HOLDER))


def _introduce(path: str) -> None:
    """Notes which process holds the lock, for the error of the next run; nothing depends on it."""
    since = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    with suppress(OSError):
        replace(path, [f"{json.dumps(holder)}\n".encode()])  # Writes into no link's file.


def _refusal(root: str) -> str:
    try:
        holder = json.loads(Path(root, _HOLDER).read_text())
        who = escaped(f"process {holder['pid']} on {holder['host']}, since {holder['since']}")
    except (OSError, ValueError, KeyError, TypeError):
        who = "a process that has not written who it is"
    return (
        f"Another run is training in {root}: {who}. Wait for its end or stop it, or give this run a"
        f" {option('log_dir')} of its own."
    )
