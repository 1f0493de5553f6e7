"""Ends a process in a cluster: it waits for the other processes, and reports their failure."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from contextlib import ExitStack

from moxing import leaving
from moxing.cluster.failure import PeerFailureError


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
    # Plain `python` ends with 1 after any error; `mox run` gives the code of a lost process.
    uncaught = getattr(sys, "last_value", None)
    if isinstance(uncaught, PeerFailureError):
        leaving.fail(uncaught.exit_code)
