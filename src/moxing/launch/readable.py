"""Waits for something to be read: `select.select` knows no descriptor above 1,023."""

from __future__ import annotations

import selectors


def has_data(descriptor: int, seconds: float = 0) -> bool:
    """Whether there is data, or the end of it, within so many seconds."""
    with selectors.PollSelector() as selector:  # epoll takes no plain files.
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(seconds))
