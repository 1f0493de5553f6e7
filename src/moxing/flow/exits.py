"""The end of a program: what its last steps raised is said, and the exit code is not 0."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Callable

from moxing.errors import MoxError


def finish(close: Callable[[], object]) -> None:
    """Closes a session as the process ends.

    Python drops what exit handlers raise, and exits with 0.

    Args:
        close: waits for steps that are still queued, and raises what they raise.
    """
    try:
        close()
    except Exception as error:
        sys.stdout.flush()
        if isinstance(error, MoxError):
            text = "\n  ".join([str(error), *getattr(error, "__notes__", ())])
            print(f"mox: error: {text}", file=sys.stderr)
        else:
            traceback.print_exception(error)
        logging.shutdown()
        sys.stderr.flush()
        os._exit(1)
