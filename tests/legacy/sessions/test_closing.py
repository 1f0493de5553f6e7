"""A session that is closed while another thread is in Python code of a step."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.client import session

from moxing.legacy.sessions import closing


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kind = session.BaseSession
    before = kind.__init__, kind.__del__, kind.close
    monkeypatch.setattr(closing, "_SECONDS", 1.0)
    closing.install()
    closing.install()  # Once more changes nothing.
    yield
    kind.__init__, kind.__del__, kind.close = before


def test_it_does_not_wait_for_python_code_that_waits(caplog: pytest.LogCaptureFixture) -> None:
    entered, leaves = threading.Event(), threading.Event()

    def take() -> float:
        entered.set()
        leaves.wait(120)
        return 1.0

    graph = tf.Graph()
    with graph.as_default():
        value = tf.py_func(take, [], tf.float64)
    opened = tf.Session(graph=graph)
    ended: list[Any] = []

    def step() -> None:
        try:
            ended.append(opened.run(value))
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=step)
    thread.start()
    assert entered.wait(120)
    began = time.monotonic()
    opened.close()
    took = time.monotonic() - began
    leaves.set()
    thread.join(120)
    assert 0.9 < took < 60
    assert len(ended) == 1
    with pytest.raises(RuntimeError, match="closed Session"):
        opened.run(value)
    (told,) = [text for text in caplog.messages if "was closed" in text]
    assert f"It is in {__file__}:" in told
    assert "in take: leaves.wait(120)" in told


def test_a_session_that_nothing_runs_in_is_closed_at_once() -> None:
    began = time.monotonic()
    with tf.Graph().as_default(), tf.Session() as opened:
        opened.run(tf.py_func(lambda: 1.0, [], tf.float64))
    opened.close()
    assert time.monotonic() - began < 60
    assert not any(each is opened for each in closing._unended)


def test_errors_of_closing_are_the_caller_s(monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.Graph().as_default():
        tf.py_func(lambda: 1.0, [], tf.float64)
        opened = tf.Session()

    def fail(native: Any) -> None:
        raise tf.errors.CancelledError(None, None, "the other side has gone")

    with monkeypatch.context() as patched:
        patched.setattr(session.tf_session, "TF_CloseSession", fail)
        with pytest.raises(tf.errors.CancelledError, match="has gone"):
            opened.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_leaves_the_sessions_of_its_parent_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow waits there for threads and locks of the parent, now and then for ever."""
    with tf.Graph().as_default():
        value = tf.reduce_sum(tf.random.normal([100, 100]))
        opened, early = tf.Session(), tf.Session()
        opened.run(value)
        del early.mox_process  # type: ignore[attr-defined]  # As of a session made before.
        child = os.fork()
        if not child:
            for name in ("TF_CloseSession", "TF_DeleteSession"):
                monkeypatch.setattr(session.tf_session, name, lambda *_: os._exit(9))
            opened.close()
            del opened, early
            gc.collect()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        opened.run(value)
        opened.close()
        with pytest.raises(RuntimeError, match="closed Session"):
            opened.run(value)


def test_python_may_shut_down_with_a_session_open() -> None:
    program = """
import tensorflow.compat.v1 as tf
from moxing.legacy.sessions import closing
closing.install()
for name in dir(closing):  # As Python does at last, before it deletes the session.
    setattr(closing, name, None)
session = tf.Session(graph=tf.Graph())
session.__del__()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
