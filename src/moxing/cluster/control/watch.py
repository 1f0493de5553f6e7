"""The thread that reads the control connections and keeps time."""

from __future__ import annotations

import selectors
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from moxing.cluster.wire import Link
from moxing.logs import TENSORFLOW

_TURN = 0.2
_SLEPT = 1.0  # A turn takes less time, unless the process does not run at all.


class Watch(threading.Thread):
    """Calls `receive(task, message)`, `lost(task, why)` and `tick(now, slept)`.

    `slept` is how many seconds this process itself stood still since the last turn (stopped by a
    signal, or its machine suspended): these must not count as silence of other tasks.
    """

    def __init__(
        self,
        links: Mapping[str, Link],
        receive: Callable[[str, dict[str, Any]], None],
        lost: Callable[[str, str], None],
        tick: Callable[[float, float], None],
    ) -> None:
        super().__init__(name="openmox-watch", daemon=True)
        self._links = dict(links)
        self._receive, self._lost, self._tick = receive, lost, tick
        self._ended = threading.Event()

    def end(self) -> None:
        """Ends the thread, and waits for its end unless called from within it."""
        self._ended.set()
        if threading.current_thread() is not self:
            self.join(timeout=5)

    def run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for task, link in self._links.items():
                selector.register(link, selectors.EVENT_READ, task)
                self._read(link, task)  # Earlier reads may have left complete messages in the link.
            before = time.monotonic()
            while not self._ended.is_set():
                self._turn(selector)
                now = time.monotonic()
                self._tick(now, now - before if now - before > _SLEPT else 0.0)
                before = now

    def _turn(self, selector: selectors.BaseSelector) -> None:
        if not selector.get_map():
            self._ended.wait(_TURN)
            return
        for key in list(selector.get_map().values()):
            link: Any = key.fileobj
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.unsent else 0)
            if key.events != events:
                selector.modify(link, events, key.data)
        for key, events in selector.select(_TURN):
            link = key.fileobj
            if events & selectors.EVENT_WRITE:
                link.flush()
            self._read(link, key.data)
            if link.lost is not None:
                selector.unregister(link)
                self._lost(key.data, link.lost)

    def _read(self, link: Link, task: str) -> None:
        for message in link.receive():
            try:
                self._receive(task, message)
            except Exception as error:  # An unexpected message must not end the watch.
                TENSORFLOW.warning("Ignoring a message of %s: %s", task, error)
