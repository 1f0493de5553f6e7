"""Requests to stop are counted as a person means them, and handlers are put back."""

from __future__ import annotations

import os
import signal

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
