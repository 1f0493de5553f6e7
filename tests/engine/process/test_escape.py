"""After a loss a session that may wait for it is closed, or the process ends: nothing else is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing import leaving
from moxing.engine.process import escape
from moxing.engine.process.escape import Escape

LIMIT = 30.0
QUIET = 0.6  # Seconds, far longer than what is waited for here.


class _Ended(BaseException):
    """Stands for the end of the process."""


class Taken:
    """A way out that is taken, in a process that says that it ends.

    Attributes:
        code: what the process ends with.
    """

    def __init__(self, way: Escape, saves_wait: bool) -> None:
        self.code: int | None = None
        self._thread = threading.Thread(target=self._take, args=(way, saves_wait), daemon=True)
        self._thread.start()

    def _take(self, way: Escape, saves_wait: bool) -> None:
        try:
            way.take(saves_wait)
        except _Ended as end:
            self.code = end.args[0]

    def ends_within(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return self.code is not None


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Taken]]:
    def end(code: int) -> None:
        raise _Ended(code)

    monkeypatch.setattr(leaving, "at_once", end)
    monkeypatch.setattr(escape, "_OWN_END_SECONDS", 0.02)
    monkeypatch.setattr(escape, "_BREAK_SECONDS", 0.05)
    monkeypatch.setattr(escape, "_TURN_SECONDS", 0.01)
    ways: list[tuple[Escape, Taken]] = []

    def begin(way: Escape, saves_wait: bool = False) -> Taken:
        ways.append((way, Taken(way, saves_wait)))
        return ways[-1][1]

    yield begin
    for way, taken in ways:
        way._saves, way._armed = 0, True
        assert taken.ends_within(LIMIT)


def test_a_session_is_closed_and_then_the_process_ends(take: Any) -> None:
    way, told = Escape(), []
    with tf.Graph().as_default():
        session, value = tf.Session(), tf.constant(1)
    way.enter(session)
    with way.last(lambda: told.append("upload")):
        taken = take(way)
        assert taken.ends_within(LIMIT)
    assert (taken.code, told) == (143, ["upload"])
    with pytest.raises(RuntimeError, match="closed"):
        session.run(value)


def test_outside_of_sessions_it_is_left_alone_until_it_enters_one(take: Any) -> None:
    way = Escape()
    way.at_ease()
    taken = take(way)
    assert not taken.ends_within(QUIET)
    with tf.Session(graph=tf.Graph()) as session:
        way.enter(session)
        assert taken.ends_within(LIMIT)


def test_a_save_is_not_disturbed(take: Any) -> None:
    way = Escape()
    with tf.Graph().as_default():
        session, value = tf.Session(), tf.constant(1)
    way.enter(session)
    with way.saving():
        taken = take(way)
        assert not taken.ends_within(QUIET)
        assert session.run(value) == 1
    assert taken.ends_within(LIMIT)


def test_a_save_that_needs_the_lost_process_or_has_no_end_is(
    take: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = Escape()
    with way.saving():
        assert take(way, saves_wait=True).ends_within(LIMIT)
        monkeypatch.setattr(escape, "_SAVE_SECONDS", 0.05)
        assert take(way).ends_within(LIMIT)


def test_what_is_to_be_done_last_may_fail(take: Any, log: Any) -> None:
    def fail() -> None:
        raise OSError("the store is away")

    way = Escape()
    with way.last(fail):
        assert take(way).ends_within(LIMIT)
    assert log.messages[-1] == "the store is away"
