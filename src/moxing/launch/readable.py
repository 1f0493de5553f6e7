"""Waits for data on a descriptor, also above 1,023, which `select.select` can't take."""

from __future__ import annotations

import selectors


def has_data(descriptor: int, seconds: float = 0) -> bool:
    """Whether data, or its end, arrives within this many seconds."""
    with selectors.PollSelector() as selector:  # epoll does not take plain files.
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(seconds))
