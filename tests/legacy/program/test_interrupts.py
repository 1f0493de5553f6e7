"""Ctrl-C ends a program that waits in native code, and leaves those alone that act on it."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import warm

from moxing.legacy.program import interrupts

PROGRAM = """
import tensorflow as tf
queue = tf.FIFOQueue(1, tf.float32)
with tf.Session() as session:
    print("waits", flush=True)
    session.run(queue.dequeue())
"""


def test_a_second_interrupt_ends_a_session_run_that_does_not_come_back(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    log = tmp_path / "log"
    with log.open("w") as stream:
        process = warm.Popen(
            [sys.executable, "-m", "moxing", "run", "train.py"],
            cwd=tmp_path, stdout=stream, stderr=stream, env=dict(os.environ),
        )  # fmt: skip
        try:
            _until(lambda: "waits\n" in log.read_text())
            time.sleep(0.3)  # Nothing tells that the session has begun to wait.
            process.send_signal(signal.SIGINT)
            _until(lambda: "Press it again to end at once.\n" in log.read_text())
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()
    assert log.read_text().splitlines()[-1] == "mox: interrupted"


def test_a_program_that_acts_on_each_interrupt_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(interrupts.leaving, "at_once", ended.append)
    with interrupts.second_ends():
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            time.sleep(0.3)
    assert not ended
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_that_native_code_makes_of_an_interrupt_is_one() -> None:
    made = AttributeError("no attribute '_type_spec'")
    made.__context__ = SystemError("<built-in function x> returned a result with an exception set")
    other = ValueError("of the program")
    with interrupts.second_ends():
        assert interrupts.behind(made) is made  # Nobody pressed Ctrl-C.
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert isinstance(interrupts.behind(made), KeyboardInterrupt)
        assert interrupts.behind(other) is other


def test_handlers_of_the_program_itself_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(interrupts.leaving, "at_once", ended.append)
    ear, mouth = socket.socketpair()
    thread = threading.Thread(target=interrupts._Interrupts().listen, args=(ear,))
    thread.start()  # The handler of this process is not that of these interrupts.
    for _ in range(2):
        mouth.send(bytes([signal.SIGINT]))
        time.sleep(0.6)
    mouth.close()
    thread.join(10)
    ear.close()
    assert not ended


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
