"""Ends a process in a cluster: it waits for the other processes, and reports their failure."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from contextlib import ExitStack

from moxing import leaving
from moxing.cluster import failure
from moxing.cluster.failure import PeerFailureError


def at_exit(stack: ExitStack) -> None:
    """Closes `stack`, the process's part in its cluster, at exit; not in forked children.

    A program that ends by an error tells the other processes so: they do not wait for it.
    """
    leaving.install()
    atexit.register(_close, stack, os.getpid())


def _close(stack: ExitStack, process: int) -> None:
    if os.getpid() != process or leaving.goes_at_once():
        return
    error = _uncaught()
    if error is not None:
        with contextlib.suppress(PeerFailureError):  # The error itself was printed before.
            stack.__exit__(type(error), error, error.__traceback__)
        # Plain `python` ends with 1 after any error; `mox run` gives the code of a lost process.
        found = error if isinstance(error, PeerFailureError) else failure.wrapped(error)
        if found is not None:
            leaving.fail(found.exit_code)
        return
    try:
        stack.close()
    except PeerFailureError as lost:
        leaving.put_back_streams()
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            print(f"mox: error: {lost}", file=sys.stderr, flush=True)
        leaving.fail(lost.exit_code)


def _uncaught() -> BaseException | None:
    """The error that ends the program; None if the program ends as it, or a signal, wanted."""
    error: BaseException | None = getattr(sys, "last_value", None)
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return None
    # A signal ends all processes after a save, for which those that are done must wait.
    return error if failure.how_of(error) == failure.REPORTED else None
