"""Drops lines of TensorFlow's native code that call for no action by the user.

Run as a program, this file reads lines, and writes those that are worth reading.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import BinaryIO

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

SIFTED = "MOX_SIFTED"  # Set where a launcher drops such lines from all that a task prints.
_DEBUG = "MOX_DEBUG"
_HIGH, _FROM_THE_LAST = 4096, 8  # Descriptors.
_START = 30.0  # Seconds that a process may take to start.
_LONGEST = 1 << 16  # A line that does not end must not fill the memory.
_UNBUFFERED = 2  # _IONBF of the C library: each message is written at once, and whole.
_NATIVE: list[int] = []  # The descriptor that native code writes to, since `drop_from_now_on`.

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
    if os.environ.get(_DEBUG) == "1" or not _HELD.acquire(blocking=False):
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
    import tempfile

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


def drop_from_now_on() -> None:
    """Drops such lines until the end of this process, once it is one of several.

    A lost process ends steps of the others at any time, so that their native code prints such lines
    at any time. Only the stream of native code is led elsewhere: Python's `sys.stderr`, the
    descriptor 2 and the programs that this process starts write where they wrote before. The lines
    go through a process of their own, which also passes on the last words of native code that
    aborts this process. With `MOX_DEBUG=1`, under a launcher that drops such lines itself, or
    where the C library is none that is known, nothing happens.
    """
    if os.environ.get(_DEBUG) == "1" or os.environ.get(SIFTED) == "1" or _NATIVE:
        return
    with contextlib.suppress(OSError, AttributeError, ValueError, subprocess.SubprocessError):
        libc = ctypes.CDLL(None)
        stream = ctypes.c_void_p.in_dll(libc, "stderr")
        libc.fdopen.argtypes, libc.fdopen.restype = [ctypes.c_int, ctypes.c_char_p], ctypes.c_void_p
        libc.setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
        descriptor = _to_a_sieve()
        opened = libc.fdopen(descriptor, b"w")
        if not opened:
            os.close(descriptor)
            return
        libc.setvbuf(opened, None, _UNBUFFERED, 0)
        _NATIVE.append(descriptor)
        stream.value = opened


def _to_a_sieve() -> int:
    """Starts the process that drops lines; returns the descriptor that leads to it.

    The process belongs to nobody, so that a program which waits for all of its children does not
    wait for it. Its input ends with the last process that has the descriptor.
    """
    import fcntl
    import resource

    ends, to = os.pipe()
    try:
        subprocess.run(
            [sys.executable, "-I", "-S", os.path.abspath(__file__)],
            stdin=ends,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            timeout=_START,
            check=True,
        )
    except BaseException:
        os.close(to)
        raise
    finally:
        os.close(ends)
    try:
        # High: if a program closes all descriptors, files that it opens later get low numbers, and
        # native code must not write into these files.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        at = min(most, _HIGH) - _FROM_THE_LAST
        return fcntl.fcntl(to, fcntl.F_DUPFD_CLOEXEC, max(at, to))
    finally:
        os.close(to)


def _main() -> None:
    """Leaves the process that started this one, and passes on lines until they end."""
    if os.fork():
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError), os.fdopen(0, "rb", buffering=0) as lines:
        _pass_on(lines)


def _pass_on(lines: BinaryIO) -> None:
    sieve, rest = Sieve(), b""
    while data := lines.read(1 << 16):
        *whole, rest = (rest + data).split(b"\n")
        if len(rest) > _LONGEST:
            whole, rest = [*whole, rest], b""
        for line in whole:
            if not sieve.is_noise(line):
                os.write(2, line + b"\n")
    if rest and not sieve.is_noise(rest):
        os.write(2, rest)


if __name__ == "__main__":
    _main()
