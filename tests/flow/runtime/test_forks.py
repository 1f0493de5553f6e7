"""Children that a program forks while a session is open, as readers of data are."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import moxing.flow as flow
from moxing.errors import MoxRuntimeError

ONE = np.ones(1, np.float32)


def _job() -> Callable[..., Any]:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((1,))) -> Any:  # noqa: B008
        return x

    assert job(ONE).get().tolist() == [1]
    return job


def _status_of(work: Callable[[], int]) -> int:
    """How a child ends, which leaves with what `work` returns."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(work())
        finally:
            os._exit(99)
    until = time.monotonic() + 240
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child does not end")


def test_a_job_is_not_waited_for_in_a_process_without_the_sessions_threads() -> None:
    job = _job()

    def call() -> int:
        try:
            job(ONE).get()
        except MoxRuntimeError as error:
            return 7 if "the session was started by another process" in str(error) else 8
        return 9

    assert _status_of(call) == 7
    assert job(ONE).get().tolist() == [1]


def test_a_signal_ends_a_child_as_if_there_was_no_session() -> None:
    job = _job()

    def wait() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
        return 0

    assert _status_of(wait) == -signal.SIGTERM
    assert job(ONE).get().tolist() == [1]


def test_the_session_of_a_child_has_nothing_to_close() -> None:
    job = _job()

    def leave() -> int:
        flow.clear_default_session()
        return 5

    assert _status_of(leave) == 5
    assert job(ONE).get().tolist() == [1]
