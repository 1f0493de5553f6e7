"""Drops lines that TensorFlow's native code prints and on which nobody can act."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator

_NOISE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\)"
    rb"|I0000 "
    rb"|To enable the following instructions:"
    rb"|.*failed call to cuInit"
    # A mark for a compiler that does not run here, set where Keras initializes variables.
    rb"|W0000 .*_has_manual_control_dependencies"
)

# What a server of a cluster says of a step that it breaks off; the step then raises it in Python.
_REPEATED = re.compile(
    rb"[WEI]0000 [\d:.]+ +\d+ (?:"
    rb"local_rendezvous\.cc:\d+\] Local rendezvous is aborting with status: "
    rb"|base_collective_executor\.cc:\d+\] BaseCollectiveExecutor::StartAbort "
    rb"|ring_\w+\.cc:\d+\] Aborting Ring"
    rb"|master_session\.cc:\d+\] UNAVAILABLE: "
    rb")"
)
_REST_OF_IT = re.compile(
    rb"Additional GRPC error information from remote target "
    rb"|:UNKNOWN:Error received from peer "
    rb"|The error could be from a previous operation\."
    rb"|\t \[\[\{\{node "
)

# Two threads that both exchange the descriptor would each put back what the other has put there.
_HELD = threading.Lock()


class Sieve:
    """Tells, of the lines of an output in their order, which say nothing.

    The further lines of a message go with its first one. In Python's tracebacks, where the same
    sentences stand, they stay.
    """

    def __init__(self) -> None:
        self._inside = False

    def is_noise(self, line: bytes) -> bool:
        """Whether the next line can be left out."""
        self._inside = bool(_REPEATED.match(line) or (self._inside and _REST_OF_IT.match(line)))
        return self._inside or _NOISE.match(line) is not None


@contextlib.contextmanager
def dropped() -> Iterator[None]:
    """Holds back what is written to file descriptor 2, and passes on what is worth reading.

    Native code writes there behind Python's back, before it knows any log level. With
    `MOX_DEBUG=1` nothing is held back.
    """
    if os.environ.get("MOX_DEBUG") == "1" or not _HELD.acquire(blocking=False):
        # Held back already, by another thread or a caller: that lets go of it in its own time.
        yield
        return
    try:
        with _held_back():
            yield
    finally:
        _HELD.release()


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    try:
        own = os.dup(2)
    except OSError:  # The process was started without one.
        yield
        return
    with tempfile.TemporaryFile() as held:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            if sys.stderr is not None:
                sys.stderr.flush()
            os.dup2(own, 2)
            os.close(own)
            held.seek(0)
            sieve = Sieve()
            for line in held:
                if not sieve.is_noise(line):
                    os.write(2, line)
