"""Ends a program: errors of its last steps are printed and make the exit code 1."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

from moxing import leaving
from moxing.errors import MoxError


def finish(close: Callable[[], object]) -> None:
    """Closes a session as the process ends.

    Args:
        close: waits for queued steps, and raises their errors.
    """
    if leaving.goes_at_once():
        return
    try:
        close()
    except SystemExit as error:  # A callback called sys.exit.
        leaving.fail(error.code if isinstance(error.code, int) else 1)
    except Exception as error:
        leaving.put_back_streams()
        sys.stdout.flush()
        if isinstance(error, MoxError):
            text = "\n  ".join([str(error), *getattr(error, "__notes__", ())])
            print(f"mox: error: {text}", file=sys.stderr)
        else:
            traceback.print_exception(error)
        leaving.fail(1)
