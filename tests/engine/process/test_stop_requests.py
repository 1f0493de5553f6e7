"""A signal asks once, politely; the second time the process's own handler acts."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from moxing import signals
from moxing.engine.process.stopping import stop_on_signals


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_sets_the_request(number: int, code: int) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as request:
        assert not request
        os.kill(os.getpid(), number)
        assert request
        assert request.exit_code == code
    assert signal.getsignal(number) == before


def test_a_second_interrupt_acts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "ONE_REQUEST", 0.0)
    with stop_on_signals():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_other_threads_run_without_handlers() -> None:
    states = []

    def inside() -> None:
        with stop_on_signals() as request:
            states.append(bool(request))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join(timeout=10)
    assert states == [False]
