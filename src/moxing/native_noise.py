"""Drops lines of TensorFlow's native code that call for no action by the user."""

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
    # About an attribute for a compiler that does not run here; Keras' initializers set it.
    rb"|W0000 .*_has_manual_control_dependencies"
)

# A cluster's server prints these when it breaks off a step, which then raises the same in Python.
_REPEATED = re.compile(
    rb"[WEI]0000 [\d:.]+ +\d+ (?:"
    rb"local_rendezvous\.cc:\d+\] Local rendezvous is aborting with status: "
    rb"|base_collective_executor\.cc:\d+\] BaseCollectiveExecutor::StartAbort "
    rb"|ring_\w+\.cc:\d+\] Aborting Ring"
    rb"|master_session\.cc:\d+\] (?:Cleanup partition error: )?UNAVAILABLE: "
    rb")"
)
_REST_OF_IT = re.compile(
    rb"Additional GRPC error information from remote target "
    rb"|:UNKNOWN:Error received from peer "
    rb"|The error could be from a previous operation\."
    rb"|\t \[\[\{\{node "
)

# Two threads that replace the descriptor at once would restore each other's replacement.
_HELD = threading.Lock()


class Sieve:
    """Tells which lines of an output can be left out, given the lines in order.

    The further lines of a message follow its first line. In Python's tracebacks, which contain the
    same sentences, the lines stay.
    """

    def __init__(self) -> None:
        self._inside = False

    def is_noise(self, line: bytes) -> bool:
        """Whether the next line can be left out."""
        self._inside = bool(_REPEATED.match(line) or (self._inside and _REST_OF_IT.match(line)))
        return self._inside or _NOISE.match(line) is not None


@contextlib.contextmanager
def dropped() -> Iterator[None]:
    """Holds back the output to file descriptor 2, and passes on the lines worth reading.

    Native code writes there directly, before any log level is set. With `MOX_DEBUG=1` nothing is
    held back.
    """
    if os.environ.get("MOX_DEBUG") == "1" or not _HELD.acquire(blocking=False):
        # Another thread or a caller holds the output back already, and will release it.
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
    except OSError:  # The process was started without this descriptor.
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
