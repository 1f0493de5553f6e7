"""Sentences that wait for the first run are given once."""

from __future__ import annotations

from moxing import notices


def test_each_is_given_once_in_order() -> None:
    notices.give()
    said: list[str] = []
    notices.before_first_run(lambda: said.append("a"))
    notices.before_first_run(lambda: said.append("b"))

    notices.give()
    notices.give()

    assert said == ["a", "b"]
