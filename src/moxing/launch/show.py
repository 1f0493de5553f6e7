"""Passes SIGUSR1, which has a training process print the stacks of its threads, on to tasks."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from moxing import signals

NOT_YET = "mox: {} shows no stacks: it does not train, or not yet."


@contextmanager
def on_request(act: Callable[[], Any]) -> Iterator[None]:
    """In the block, SIGUSR1 to this process calls `act`."""
    if not signals.in_main_thread():
        yield
        return
    with signals.handled((signal.SIGUSR1,), lambda number, frame: act()):
        yield


def show_stacks(process: int) -> bool:
    """Makes a process print its stacks; returns whether it can: the signal would end others."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    if not int(caught.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1:
        return False
    # The signal is not for the group: a child that runs another program has no handler.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGUSR1)
    return True
