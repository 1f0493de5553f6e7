"""Sentences for the user that wait until the first run starts, when every flag is known."""

from __future__ import annotations

from collections.abc import Callable

_waiting: list[Callable[[], None]] = []


def before_first_run(notice: Callable[[], None]) -> None:
    """Registers a function to be called once: when a run starts, or when the program ends."""
    _waiting.append(notice)


def give() -> None:
    """Calls every registered function once."""
    while _waiting:
        _waiting.pop(0)()
