"""Ends a process after all exit functions and writes, and never by SIGABRT.

Python before 3.14 ends every thread that comes back from native code during shutdown, by unwinding
the thread's stack; C++ then often aborts the process. TensorFlow has such threads: some close a
session or wait in a step, others call a generator or a py_func. If a process may have such a
thread, this module does Python's work at exit and then calls `os._exit`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import io
import logging
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

_ASK_SECONDS = 30.0  # Limit for a fork to find the exit code.
_AT_ONCE_SECONDS = 5.0  # Limit for exit functions if the main thread can't run them.
_UNFLUSHED = 120  # Python's exit code if output could not be written.
_TEXT, _PACKED, _BYTES = range(3)
_LAST_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Classes whose destructor writes the rest of a buffer: module, class, method to call instead.
_WRITERS = (
    ("tensorflow.python.summary.writer.event_file_writer", "EventFileWriter", "flush"),
    ("tensorflow.python.ops.summary_ops_v2", "_ResourceSummaryWriter", "flush"),
    ("tensorflow.python.lib.io.file_io", "FileIO", "flush"),
    ("tensorflow.python.lib.io.tf_record", "TFRecordWriter", "flush"),
    ("h5py._hl.files", "File", "flush"),
    ("zipfile", "ZipFile", "close"),
)


class _Way:
    """The state of this process's end.

    Attributes:
        told: the exit code that the program's last `sys.exit` gives; None if it is not known.
        failed: an exit code that an exit function asked for; None if none did.
        asks: whether this process is a fork that finds the exit code.
        at_once: whether the process ends although its main thread does not.
    """

    told: int | None = None
    failed: int | None = None
    asks = False
    at_once = False


_way = _Way()


def install() -> None:
    """From now on, this process ends by this module if it may have threads in native code."""
    before: Callable[[], None] = threading._shutdown  # type: ignore[attr-defined]
    if hasattr(before, "mox_before"):
        return

    def _shutdown() -> None:
        # Python calls it without any frame at its end; multiprocessing calls it in processes that
        # end in another way.
        if sys._getframe().f_back is None:
            _end(before)
        else:
            before()

    _shutdown.mox_before = before  # type: ignore[attr-defined]
    threading._shutdown = _shutdown  # type: ignore[attr-defined]


def told(main: Callable[[], int]) -> int:
    """Runs a command whose result, or `SystemExit`, is the exit code of the process."""
    try:
        code = main()
    except SystemExit as error:
        _way.told = _code_of(error)
        raise
    _way.told = code
    return code


def fail(code: int) -> None:
    """Called by an exit function: the process will end with this code after the others.

    Python itself drops the errors of exit functions, and exits with 0.
    """
    install()
    _way.failed = _way.failed or code


def at_once(code: int) -> None:
    """Ends the process from a thread, if the main thread may never end.

    Exit functions run for a few seconds at most; those that wait for other processes check
    `goes_at_once`.
    """
    _way.at_once = True

    def finish() -> None:
        atexit._run_exitfuncs()
        _write_buffers()

    worker = threading.Thread(target=finish, name="exit functions", daemon=True)
    worker.start()
    worker.join(_AT_ONCE_SECONDS)
    os._exit(code)


def goes_at_once() -> bool:
    """Whether this process ends before its work is done."""
    return _way.at_once


def _end(join: Callable[[], None]) -> None:
    """Does Python's work at exit; then ends the process if a thread may be in native code."""
    if _way.asks:
        return
    try:
        join()
    except BaseException as error:  # Usually Ctrl-C.
        traceback.print_exception(error)
    atexit._run_exitfuncs()
    put_back_streams()
    if _way.failed is None and not _may_abort():
        return
    flushed = _write_buffers()
    if _way.failed is None and _way.told is None:
        _leave_as_a_fork_does()
        return
    code = _way.failed or _way.told or 0
    os._exit(code if flushed else _UNFLUSHED)


def put_back_streams() -> None:
    """Puts Python's streams back for those of the program that have no method `flush`.

    Python 2 asked only for `write`. Python 3 calls `flush` at its end, and exits with 120 without.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not callable(getattr(stream, "flush", None)):
            setattr(sys, name, getattr(sys, f"__{name}__"))


def _may_abort() -> bool:
    """Whether a thread may come back from native code that Python can't see."""
    if len(sys._current_frames()) > 1:
        return True
    functions = sys.modules.get("tensorflow.python.ops.script_ops")
    # A generator or py_func was made once, and native threads may call it.
    return functions is not None and functions._py_funcs._unique_id > 0


def _write_buffers() -> bool:
    """Writes all buffers; returns whether all output could be written."""
    with contextlib.suppress(Exception):
        logging.shutdown()
    for write in _writers():
        with contextlib.suppress(Exception):
            write()
    flushed = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except Exception:
            flushed = False
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).fflush(None)
    return flushed


def _writers() -> Iterator[Callable[[], Any]]:
    """Yields methods that write the buffers of open files: first files that write to others."""
    methods: dict[type, str] = {}
    for module, name, method in _WRITERS:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None:
            methods[kind] = method
    kinds, files = tuple(methods), []
    known: dict[type, bool] = {}
    for found in gc.get_objects():
        kind = type(found)
        if kind not in known:
            known[kind] = issubclass(kind, (io.IOBase, *kinds))
        if not known[kind]:
            continue
        if not isinstance(found, io.IOBase):
            yield getattr(found, next(methods[k] for k in kinds if isinstance(found, k)))
        else:
            files.append(found)
    streams = {id(sys.stdout), id(sys.stderr), id(sys.__stdout__), id(sys.__stderr__)}
    for file in sorted(files, key=_depth):
        if file.closed or id(file) in streams:
            continue
        if _depth(file) == _PACKED:
            yield lambda file=file: file.writable() and file.close()
        else:
            yield file.flush


def _depth(file: io.IOBase) -> int:
    """Orders files by layer: text is written to a buffer, which may compress it into another."""
    if isinstance(file, io.TextIOBase):
        return _TEXT
    # For example, a GzipFile writes its end when it is closed.
    packs = type(file).__module__ != "_io" and isinstance(file, io.BufferedIOBase)
    return _PACKED if packs else _BYTES


def _leave_as_a_fork_does() -> None:
    """Exits with the code of a fork, which shuts down with only this process's main thread.

    Only Python's `main` knows the program's argument of `sys.exit`, and passes it to `exit()`
    alone. This function returns in the fork, and if there is no answer.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "on_exit"):  # For example, on macOS.
        return
    try:
        with warnings.catch_warnings():
            # Warnings about other threads, which the fork does not need.
            warnings.simplefilter("ignore")
            fork = os.fork()
    except OSError:
        return
    if fork == 0:
        _way.asks = True
        # exit() calls _exit(code) first, and no object is destroyed before: destructors would wait
        # for threads that the fork does not have.
        library.on_exit(library._exit, None)
        gc.freeze()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(gc.get_objects()))
        for module in list(sys.modules.values()):
            values = list(getattr(module, "__dict__", {}).values())
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(values))
        return
    code = _code_of_fork(fork)
    if code is None:
        return
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _code_of_fork(fork: int) -> int | None:
    """Returns a fork's exit code, negative for a signal; None if it had to be killed."""
    until = time.monotonic() + _ASK_SECONDS
    try:
        while (ended := os.waitpid(fork, os.WNOHANG)) == (0, 0):
            if time.monotonic() > until:
                os.kill(fork, signal.SIGKILL)
                os.waitpid(fork, 0)
                return None
            time.sleep(0.002)
    except ChildProcessError:
        return None
    code = os.waitstatus_to_exitcode(ended[1])
    return code if code >= 0 or -code in _LAST_SIGNALS else None


def _code_of(error: SystemExit) -> int:
    """The exit code that Python makes of the exception."""
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


def _forget() -> None:
    """Resets the state in a fork, which ends in its own way."""
    _way.at_once, _way.told, _way.failed = False, None, None


os.register_at_fork(after_in_child=_forget)
