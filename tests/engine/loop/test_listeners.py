"""Listeners are called around each commit, in their order."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.loop.listeners import Listeners


class Noted(tf.train.CheckpointSaverListener):
    def __init__(self, name: str, calls: list[Any]) -> None:
        self.name, self.calls = name, calls

    def begin(self) -> None:
        self.calls.append((self.name, "begin"))

    def before_save(self, session: Any, global_step_value: int) -> None:
        self.calls.append((self.name, "before", global_step_value))

    def after_save(self, session: Any, global_step_value: int) -> None:
        self.calls.append((self.name, "after", global_step_value))

    def end(self, session: Any, global_step_value: int) -> None:
        self.calls.append((self.name, "end", global_step_value))


def test_the_order() -> None:
    calls: list[Any] = []
    listeners = Listeners([Noted("a", calls), Noted("b", calls)])

    session: Any = None
    listeners.begin()
    listeners.around(lambda: calls.append("commit"), session, 3)
    listeners.end(session, 5)

    assert calls == [
        *(("a", "begin"), ("b", "begin")),
        *(("a", "before", 3), ("b", "before", 3), "commit", ("a", "after", 3), ("b", "after", 3)),
        *(("a", "end", 5), ("b", "end", 5)),
    ]


def test_an_error_names_the_listener() -> None:
    class Failing(tf.train.CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: int) -> None:
            raise KeyError("x")

    session: Any = None
    with pytest.raises(KeyError) as caught:
        Listeners([Failing()]).around(lambda: None, session, 1)
    assert "the listener Failing's after_save (test_listeners.py:" in caught.value.__notes__[0]
