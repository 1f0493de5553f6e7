"""Closes a program's sessions without an endless wait for Python code that runs inside them."""

from __future__ import annotations

import _thread
import os
import sys
from typing import Any

from moxing.engine.process import stacks
from moxing.logs import TENSORFLOW

_SECONDS = 10.0  # As for runs of the engine, whose last step is done too.
# TensorFlow deletes a session with its Python object, which waits as closing the session does.
_unended: list[Any] = []


def install() -> None:
    """From now on closing a session waits for ten seconds at most, and not at all in a fork.

    TensorFlow waits for the steps of other threads, such as of queue runners. It cancels their
    native operations, but no `tf.py_func`: if that waits for data, the program never ends. A
    process that was forked, such as a worker of Keras' generators, has none of these threads: if
    Python collects a session of its parent there, TensorFlow waits for ever.
    """
    from tensorflow.python.client import session

    close: Any = session.BaseSession.close
    if hasattr(close, "mox_bounded"):
        return
    start: Any = session.BaseSession.__init__
    delete: Any = session.BaseSession.__del__

    # As Python shuts down, sessions are deleted when this module's names are gone.
    getpid = os.getpid
    installed = getpid()

    def is_of_parent(made: Any) -> bool:
        """Whether a session was made by the process of which this process is a fork."""
        return getattr(made, "mox_process", installed) != getpid()

    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
        self.mox_process = getpid()
        start(self, *arguments, **keywords)

    def __del__(self: Any) -> None:
        # A session that an error kept from being made has no handle to delete.
        if "_session" in vars(self) and not is_of_parent(self):
            delete(self)

    def bounded(self: Any) -> None:
        if is_of_parent(self):
            return
        if not _calls_python():
            close(self)
            return
        errors: list[BaseException] = []
        done = _thread.allocate_lock()
        done.acquire()

        def work() -> None:
            try:
                close(self)
            except BaseException as error:
                errors.append(error)
            finally:
                done.release()

        try:
            # Not by `threading`: the garbage collector closes sessions too, and may hold its locks.
            _thread.start_new_thread(work, ())
        except RuntimeError:  # Python is shutting down.
            close(self)
            return
        if done.acquire(timeout=_SECONDS):
            if errors:
                raise errors[0]
            return
        _unended.append(self)
        if stacks.in_input():  # Else TensorFlow waits for native threads, of tf.data for example.
            _say()

    bounded.mox_bounded = close  # type: ignore[attr-defined]
    # Other changes to sessions are known by their marks.
    __init__.__dict__.update(vars(start))
    session.BaseSession.__init__ = __init__
    session.BaseSession.__del__ = __del__
    session.BaseSession.close = bounded


def _calls_python() -> bool:
    """Whether the program has made a generator or a `tf.py_func`."""
    functions = sys.modules.get("tensorflow.python.ops.script_ops")
    return functions is not None and functions._py_funcs._unique_id > 0


def _say() -> None:
    places = "; ".join(stacks.of_input())
    TENSORFLOW.warning(
        "A step of another thread still runs %.0f seconds after its session was closed; going on"
        " without it.%s Look there for a wait without a limit.",
        _SECONDS,
        f" It is in {places}." if places else "",
    )
