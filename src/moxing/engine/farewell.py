"""The end of a process in a cluster: it waits for the others, and says how that ended."""

from __future__ import annotations

import contextlib
import os
import sys
from contextlib import ExitStack

from moxing.cluster.failure import PeerFailureError


def close(stack: ExitStack) -> None:
    """Closes what a process holds of its cluster, as it exits.

    Python drops what exit handlers raise, and exits with 0; so a loss that is found here is said,
    and the process ends with the code of a lost partner.
    """
    try:
        stack.close()
    except PeerFailureError as error:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            print(f"mox: error: {error}", file=sys.stderr, flush=True)
        os._exit(error.exit_code)
