"""The control channel of a task that is not the chief: one connection, to the chief."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from moxing.cluster import failure
from moxing.cluster.cluster import Cluster, named
from moxing.cluster.control.hub import BEAT_SECONDS, NOTICE_SECONDS
from moxing.cluster.wire import Link, close_all
from moxing.logs import TENSORFLOW

CHIEF = "worker 0"


class Spoke:
    """Sends heartbeats, passes on the chief's messages, and notices if the chief falls silent."""

    def __init__(
        self,
        cluster: Cluster,
        link: Link,
        deliver: Callable[[dict[str, Any]], None],
        step: Callable[[], int | None],
        stall_timeout: float,
        works: Callable[[], bool],
    ) -> None:
        self._address = cluster.workers[0]
        self._link, self._deliver, self._step, self._works = link, deliver, step, works
        self._limit = stall_timeout
        self._heard = time.monotonic()
        self._beaten = 0.0
        self._chief_step: int | None = None
        self._noticed = False
        self._over = threading.Event()

    def send(self, message: Mapping[str, Any]) -> None:
        self._link.send(message)

    def receive(self, task: str, message: dict[str, Any]) -> None:
        now = time.monotonic()
        if self._noticed:
            self._noticed = False
            TENSORFLOW.info(
                "%s is back after %.0f s", named(CHIEF, self._address), now - self._heard
            )
        self._heard = now
        if message["kind"] == "beat":
            step = message.get("step")
            self._chief_step = step if isinstance(step, int) else self._chief_step
            return
        if message.get("name") in ("failed", "all_finished"):
            self._over.set()
        self._deliver(message)

    def lost(self, task: str, why: str) -> None:
        self._link.close()
        self._end("died", failure.died(CHIEF, self._address, why, self._chief_step))

    def tick(self, now: float, slept: float) -> None:
        self._heard = min(now, self._heard + slept)
        if now - self._beaten >= BEAT_SECONDS:
            self._beaten = now
            self._link.send({"kind": "beat", "step": self._step(), "works": self._works()})
        if self._over.is_set():
            return
        silence = now - self._heard
        if silence >= self._limit:
            text = failure.stalled(CHIEF, self._address, self._chief_step, silence)
            self._end("stalled", text)
        elif silence >= min(NOTICE_SECONDS, self._limit / 2) and not self._noticed:
            self._noticed = True
            text = failure.silent(CHIEF, self._address, self._chief_step, silence, self._limit)
            TENSORFLOW.warning("%s", text)

    def close(self) -> None:
        close_all([self._link], 2.0)

    def _end(self, how: str, text: str) -> None:
        if self._over.is_set():
            return
        self._over.set()
        if how == "stalled":  # A chief that wakes up must not wait for this task.
            self._link.send({"kind": "event", "name": "failed", "details": {"reason": text}})
        details = {"how": how, "reason": text, "step": self._chief_step}
        self._deliver({"kind": "event", "name": "failed", "task": CHIEF, "details": details})
