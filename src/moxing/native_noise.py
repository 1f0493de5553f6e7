"""Drops lines that TensorFlow's native code prints at its start and on which nobody can act."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator

_NOISE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\)"
    rb"|I0000 "
    rb"|To enable the following instructions:"
    rb"|.*failed call to cuInit"
    # A mark for a compiler that does not run here, set where Keras initializes variables.
    rb"|W0000 .*_has_manual_control_dependencies"
)


@contextlib.contextmanager
def dropped() -> Iterator[None]:
    """Holds back what is written to file descriptor 2, and passes on what is worth reading.

    Native code writes there behind Python's back, before it knows any log level. With
    `MOX_DEBUG=1` nothing is held back.
    """
    if os.environ.get("MOX_DEBUG") == "1":
        yield
        return
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
            for line in held:
                if not _NOISE.match(line):
                    os.write(2, line)
