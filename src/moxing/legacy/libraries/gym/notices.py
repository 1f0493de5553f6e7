"""Warnings that are said once."""

from __future__ import annotations

import functools

from moxing import logs


@functools.cache
def say_once(sentence: str) -> None:
    """Logs a warning, the first time."""
    logs.warn("%s", sentence)
