"""The chief's side of the control channel: relays events, gathers values, finds the first cause."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from moxing.cluster import failure
from moxing.cluster.cluster import Cluster, named
from moxing.cluster.wire import Link, close_all, encoded
from moxing.errors import escaped

BEAT_SECONDS = 1.0
NOTICE_SECONDS = 10.0
# The death of one task makes others fail within milliseconds; it counts as the cause of all
# failures.
SETTLE_SECONDS = 1.0


@dataclass
class Peer:
    """The chief's knowledge of one task."""

    task: str
    address: str
    link: Link | None
    heard: float
    step: int | None = None
    moved: float = 0.0
    finished: bool = False
    noticed: bool = False
    reported: bool = False


@dataclass
class Hub:
    """The chief's state of all tasks, for several threads; every method takes the lock.

    Args:
        links: the other tasks' connections, by task.
        deliver: takes the messages to the chief itself.
        stall_timeout: seconds of silence that end the job.
        step: the step that the chief itself has reached.
    """

    cluster: Cluster
    links: Mapping[str, Link]
    deliver: Callable[[dict[str, Any]], None]
    stall_timeout: float
    step: Callable[[], int | None]
    failure: dict[str, Any] | None = None
    _gathers: dict[str, dict[int, Any]] = field(default_factory=dict)
    _reports: list[dict[str, Any]] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)
    _reported_at: float = 0.0
    _beaten: float = 0.0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        now = time.monotonic()
        self.peers = {
            task: Peer(task, address, self.links.get(task), heard=now, moved=now)
            for task, address in self.cluster.tasks.items()
        }
        self._me = self.peers["worker 0"]
        self._working = {task for task in self.peers if task.startswith("worker")}

    def handle(self, task: str, message: Mapping[str, Any]) -> None:
        """Handles one message of a task, the chief included."""
        with self._lock:
            peer = self.peers[task]
            self._hear(peer)
            kind = message["kind"]
            if kind == "beat":
                self._beat(peer, message.get("step"), message.get("works") is True)
            elif kind == "event":
                self._event(peer, str(message["name"]), dict(message.get("details") or {}))
            elif kind == "gather":
                self._gather(peer, str(message["key"]), message.get("value"))
            elif kind == "cast" and peer is self._me:
                self._send_all({**message, "kind": "value"})
            elif kind == "missing":
                self._missing(peer, str(message["key"]))

    def lost(self, task: str, why: str) -> None:
        """Handles the end of a task's connection."""
        with self._lock:
            peer = self.peers[task]
            if peer.link is not None:
                peer.link.close()
                peer.link = None
            if peer.finished or peer.reported or self.failure or self._all_finished():
                return
            text = failure.died(task, peer.address, why, peer.step)
            self._decide(peer, "died", text)

    def tick(self, now: float, slept: float) -> None:
        with self._lock:
            for peer in self.peers.values():
                peer.heard = min(now, peer.heard + slept)
                peer.moved = min(now, peer.moved + slept)
                if peer is not self._me and peer.link is not None and not peer.finished:
                    self._listen(peer, now - peer.heard)
            if now - self._beaten >= BEAT_SECONDS:
                self._beaten = now
                self._me.step = self.step()
                self._send_all({"kind": "beat", "step": self._me.step}, but=self._me)
            if self._reports and self.failure is None and now - self._reported_at >= SETTLE_SECONDS:
                self._settle()

    def idlers(self, now: float, since: float) -> list[Peer]:
        """Unfinished workers that made no step and did no own work for `stall_timeout`."""
        with self._lock:
            return [
                peer
                for peer in self.peers.values()
                if peer.task.startswith("worker") and not peer.finished and peer is not self._me
                if now - max(peer.moved, since) >= self.stall_timeout
            ]

    def stalled(self, peer: Peer, seconds: float) -> None:
        """Treats a task as hung, and announces its failure."""
        with self._lock:
            text = failure.stalled(peer.task, peer.address, peer.step, seconds)
            self._decide(peer, "stalled", text)

    def close(self) -> None:
        """Sends the remaining messages to all tasks, and closes the connections."""
        with self._lock:
            links = [peer.link for peer in self.peers.values() if peer.link is not None]
            for peer in self.peers.values():
                peer.link = None
        close_all(links, 2.0)

    def _hear(self, peer: Peer) -> None:
        now = time.monotonic()
        if peer.noticed:
            peer.noticed = False
            self._notice(f"{named(peer.task, peer.address)} is back after {now - peer.heard:.0f} s")
        peer.heard = now

    def _beat(self, peer: Peer, step: Any, works: bool) -> None:
        if works:
            peer.moved = time.monotonic()
        if isinstance(step, int) and step != peer.step:
            peer.step, peer.moved = step, time.monotonic()

    def _listen(self, peer: Peer, silence: float) -> None:
        if silence >= self.stall_timeout:
            if self.failure is None:
                self.stalled(peer, silence)
        elif silence >= min(NOTICE_SECONDS, self.stall_timeout / 2) and not peer.noticed:
            peer.noticed = True
            self._notice(
                failure.silent(peer.task, peer.address, peer.step, silence, self.stall_timeout)
            )

    def _notice(self, text: str) -> None:
        self._send_all({"kind": "notice", "text": text})

    def _event(self, peer: Peer, name: str, details: dict[str, Any]) -> None:
        if name == "failed":
            how = failure.STOPPED if details.get("stopped") else failure.REPORTED
            self._report(peer, how, escaped(str(details.get("reason", "it did not say why"))))
            return
        if name not in self._told:  # Every task keeps the first event of a name.
            self._told.add(name)
            self._send_all({"kind": "event", "name": name, "task": peer.task, "details": details})
        if name == "finished" and not peer.finished:
            peer.finished = True
            self._working.discard(peer.task)
            if self._all_finished():
                self._send_all(
                    {"kind": "event", "name": "all_finished", "task": peer.task, "details": {}}
                )

    def _all_finished(self) -> bool:
        return not self._working

    def _report(self, peer: Peer, how: str, reason: str) -> None:
        peer.reported = True
        if not self._reports:
            self._reported_at = time.monotonic()
        text = failure.failed(peer.task, peer.address, reason, how)
        self._reports.append({"task": peer.task, "how": how, "reason": text})
        if not self.links:
            self._settle()

    def _settle(self) -> None:
        first = self._reports[0]
        self._decide(self.peers[first["task"]], first["how"], first["reason"])

    def _decide(self, peer: Peer, how: str, text: str) -> None:
        if self.failure is not None:
            return
        self.failure = {"how": how, "reason": text, "step": peer.step}
        self._send_all(
            {"kind": "event", "name": "failed", "task": peer.task, "details": self.failure}
        )

    def _gather(self, peer: Peer, key: str, value: Any) -> None:
        job, index = peer.task.split()
        if job != "worker":
            return
        values = self._gathers.setdefault(key, {})
        values[int(index)] = value
        if len(values) == self.cluster.size:
            del self._gathers[key]
            ordered = [values[i] for i in range(self.cluster.size)]
            self._send_all({"kind": "value", "key": key, "value": ordered}, workers=True)

    def _missing(self, peer: Peer, key: str) -> None:
        there = self._gathers.get(key, {})
        tasks = [
            named(p.task, p.address) + (" (it has finished)" if p.finished else "")
            for i, p in enumerate(list(self.peers.values())[: self.cluster.size])
            if i not in there
        ]
        self._send(peer, {"kind": "missing", "key": key, "tasks": tasks})

    def _send_all(
        self, message: dict[str, Any], but: Peer | None = None, workers: bool = False
    ) -> None:
        body = encoded(message) if self.links else b""
        for peer in self.peers.values():
            if peer is but or (workers and peer.task.startswith("ps")):
                continue
            if peer is self._me:
                self.deliver(message)
            elif peer.link is not None:
                peer.link.send_encoded(body)

    def _send(self, peer: Peer, message: dict[str, Any]) -> None:
        if peer is self._me:
            self.deliver(message)
        elif peer.link is not None:
            peer.link.send(message)
