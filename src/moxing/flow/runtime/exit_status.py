"""The end of a program: what its last steps raised is said, and the exit code is not 0."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from moxing.errors import MoxError


def finish(close: Callable[[], object]) -> None:
    """Closes a session as the process ends.

    Python drops what exit handlers raise, and exits with 0.

    Args:
        close: waits for steps that are still queued, and raises what they raise.
    """
    try:
        close()
    except SystemExit as error:  # Of a callback.
        _leave(error.code if isinstance(error.code, int) else 1)
    except Exception as error:
        sys.stdout.flush()
        if isinstance(error, MoxError):
            text = "\n  ".join([str(error), *getattr(error, "__notes__", ())])
            print(f"mox: error: {text}", file=sys.stderr)
        else:
            traceback.print_exception(error)
        _leave(1)


def _leave(code: int) -> NoReturn:
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
