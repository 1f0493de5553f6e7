"""Requests to stop are counted as a person means them, and handlers are put back."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from moxing import signals
from moxing.signals import ONE_REQUEST, StopRequest


def test_signals_right_after_each_other_are_one_request() -> None:
    request = StopRequest()
    assert not request
    assert request.note(signal.SIGTERM, 10.0)
    assert not request.note(signal.SIGINT, 10.0 + 0.9 * ONE_REQUEST)
    assert (request.signal, request.count, request.exit_code) == (signal.SIGTERM, 1, 143)
    assert request.note(signal.SIGINT, 10.0 + ONE_REQUEST)
    assert (request.signal, request.count, request.exit_code) == (signal.SIGINT, 2, 130)


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.SIG_DFL, signal.default_int_handler])
def test_handlers_of_before_come_back(before: object) -> None:
    heard = []
    outer = signals.current([signal.SIGUSR2])
    try:
        signals.install({signal.SIGUSR2: before})
        with signals.handled([signal.SIGUSR2], lambda number, frame: heard.append(number)) as found:
            assert found == {signal.SIGUSR2: before}
            os.kill(os.getpid(), signal.SIGUSR2)
        assert heard == [signal.SIGUSR2]
        assert signal.getsignal(signal.SIGUSR2) == before
    finally:
        signals.install(outer)


def test_a_process_dies_of_a_signal_that_it_handled() -> None:
    child = os.fork()
    if not child:
        signal.signal(signal.SIGTERM, lambda number, frame: None)
        signals.die_of(signal.SIGTERM)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGTERM


def test_a_handler_that_does_as_python_does_counts_as_none() -> None:
    class Own:
        @signals.as_default
        def act(self, number: int, frame: object) -> None:
            raise KeyboardInterrupt

        def other(self, number: int, frame: object) -> None:
            raise KeyboardInterrupt

    assert signals.is_default(signal.SIG_DFL)
    assert signals.is_default(signal.default_int_handler)
    assert signals.is_default(Own().act)
    assert not signals.is_default(Own().other)
    assert not signals.is_default(signal.SIG_IGN)
    assert not signals.is_default(None)


def test_sigusr1_prints_all_stacks(capfd: Any) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    try:
        signals.print_stacks_on_request()
        waits = threading.Event()
        thread = threading.Thread(target=waits.wait)
        thread.start()
        os.kill(os.getpid(), signal.SIGUSR1)
        waits.set()
        thread.join()
    finally:
        faulthandler.unregister(signal.SIGUSR1)
    told = capfd.readouterr().err
    assert "test_sigusr1_prints_all_stacks" in told
    assert told.count("most recent call first") >= 2
    assert signal.getsignal(signal.SIGUSR1) == before


def test_sigusr1_prints_again_after_the_user_has_reset_it(capfd: Any) -> None:
    try:
        signals.print_stacks_on_request()
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        signals.print_stacks_on_request()
        os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        faulthandler.unregister(signal.SIGUSR1)
    assert "most recent call first" in capfd.readouterr().err


def test_a_handler_of_the_users_own_stays() -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: told.append(number))
    try:
        signals.print_stacks_on_request()
        os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert told == [signal.SIGUSR1]


PROGRAM = """
import time
print("waits", flush=True)
while not open("go").read():
    time.sleep(0.05)
print("went on")
"""


@pytest.mark.parametrize("face", ["", "import tensorflow as tf\ntf.Session\n"])
def test_sigusr1_prints_where_any_program_of_mox_run_is(face: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(face + PROGRAM)
    (tmp_path / "go").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "moxing", "run", "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.3)
    (tmp_path / "go").write_text("now")
    told, said = process.communicate(timeout=240)
    assert (process.returncode, told) == (0, "went on\n"), said
    assert "most recent call first" in said
    assert "program.py" in said
