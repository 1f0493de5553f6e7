"""Ends a process in a cluster: it waits for the other processes, and reports their failure."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from contextlib import ExitStack
from types import TracebackType

from moxing import leaving
from moxing.cluster.failure import MissingPeerError, PeerFailureError


def say_by_code() -> None:
    """From now on a loss that the program does not catch also ends plain `python` with its code.

    Python itself ends with 1 for every error, as for one that comes again after a restart.
    """
    before = sys.excepthook
    if hasattr(before, "mox_before"):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        if isinstance(error, PeerFailureError | MissingPeerError):
            leaving.fail(error.exit_code)

    hook.mox_before = before  # type: ignore[attr-defined]
    sys.excepthook = hook


def at_exit(stack: ExitStack) -> None:
    """Closes `stack`, the process's part in its cluster, at exit; not in forked children."""
    leaving.install()
    atexit.register(_close, stack, os.getpid())


def _close(stack: ExitStack, process: int) -> None:
    if os.getpid() != process or leaving.goes_at_once():
        return
    try:
        stack.close()
    except PeerFailureError as error:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            print(f"mox: error: {error}", file=sys.stderr, flush=True)
        leaving.fail(error.exit_code)
