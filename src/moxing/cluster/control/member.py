"""The messages that a task can exchange with the other tasks of its job while it runs."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from moxing.cluster.cluster import Cluster
from moxing.cluster.failure import REPORTED, STOPPED, MissingPeerError, PeerFailureError
from moxing.errors import MoxRuntimeError, MoxTypeError, escaped
from moxing.logs import TENSORFLOW


class Member:
    """This task as a member of its job. Every method may be called from any thread."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.step: int | None = None  # The last reported step.
        self.has_failed = False
        self._send: Callable[[Mapping[str, Any]], None] = lambda message: None
        self._changed = threading.Condition()
        self._events: dict[str, dict[str, Any]] = {}
        self._values: dict[str, Any] = {}
        self._missing: dict[str, list[str]] = {}
        self._calls: Counter[str] = Counter()
        self._callbacks: list[Callable[[str], None]] = []

    def connect(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        """Sets the function that takes this task's messages; `join` calls this."""
        self._send = send

    def report_step(self, step: int) -> None:
        """Records the step that was reached; the next heartbeat carries it."""
        self.step = step

    def announce(self, event: str, **details: Any) -> None:
        """Announces an event to every task. Details are JSON values.

        For each name, every task keeps the event that reached the chief first. A `failed` event
        becomes known once it is clear that no death of a task caused it (within about a second).
        """
        if event == "failed":
            self.has_failed = True
            self._send({"kind": "beat", "step": self.step})
        self._send(_checked({"kind": "event", "name": event, "details": details}))

    def event(self, name: str) -> Mapping[str, Any] | None:
        """The first event of this name that a task announced, with its `task`; else None."""
        return self._events.get(name)

    def wait(self, name: str, timeout: float) -> Mapping[str, Any] | None:
        """Like `event`, after waiting up to `timeout` seconds for the event."""
        with self._changed:
            self._changed.wait_for(lambda: name in self._events, timeout)
        return self._events.get(name)

    def fail(self, reason: str) -> None:
        """Announces that this task can't go on."""
        self.announce("failed", reason=reason)

    def wait_failure(self, timeout: float) -> str | None:
        """Like `first_failure`, after waiting up to `timeout` seconds for a failure."""
        self.wait("failed", timeout)
        return self.first_failure()

    def wait_for_workers(self, turn: Callable[[], None] = lambda: None) -> None:
        """Returns when every worker is finished; for parameter servers.

        A worker that dies, fails or stands still ends the wait with an error.

        Args:
            turn: called about twice a second meanwhile.

        Raises:
            PeerFailureError: a task failed first.
        """
        while self.wait("all_finished", 0.5) is None:
            if (reason := self.first_failure()) is not None:
                raise PeerFailureError(reason)
            turn()

    def all_gather(self, key: str, value: Any, timeout: float | None) -> list[Any]:
        """Every worker's value, in the order of the workers.

        All workers call it equally often for a key. Parameter servers take no part. A `timeout` of
        None waits for as long as no task fails.

        Raises:
            PeerFailureError: a task failed meanwhile.
            MissingPeerError: after `timeout` seconds, naming the workers that did not come. With
                None, only a failure ends the wait.
        """
        full = self._numbered(key)
        self._send(_checked({"kind": "gather", "key": full, "value": value}))
        return self._await_value(full, f"{key!r}", timeout)

    def broadcast(self, key: str, value: Any, timeout: float | None) -> Any:
        """Returns the chief's value, and ignores other tasks'. Raises as `all_gather` does."""
        full = self._numbered(f"chief's {key}")
        if self.cluster.is_chief:
            self._send(_checked({"kind": "cast", "key": full, "value": value}))
        return self._await_value(full, f"the chief's {key!r}", timeout)

    def barrier(self, key: str, timeout: float | None) -> None:
        """Waits until every worker has called it. Raises as `all_gather` does."""
        self.all_gather(f"barrier {key}", None, timeout)

    def first_failure(self) -> str | None:
        """The first cause that ended the job's work, as a sentence; None if nothing failed."""
        event = self._events.get("failed")
        return None if event is None else event["reason"]

    def was_stopped(self) -> bool:
        """Whether the first cause is that a task was told to stop by a signal."""
        event = self._events.get("failed")
        return event is not None and event["how"] == STOPPED

    def on_failure(self, callback: Callable[[str], None]) -> None:
        """Calls back once, with the first cause, in a thread of its own.

        A failure that this task itself reported does not call back. A failure that is already known
        calls back at once.
        """
        with self._changed:
            self._callbacks.append(callback)
            event = self._events.get("failed")
        if event is not None:
            self._call_back(event)

    def deliver(self, message: Mapping[str, Any]) -> None:
        """Takes a message of the chief; the watch thread calls it."""
        event = None
        with self._changed:
            kind = message["kind"]
            if kind == "value":
                self._values[message["key"]] = message["value"]
            elif kind == "missing":
                self._missing[message["key"]] = message["tasks"]
            elif kind == "event" and message["name"] not in self._events:
                event = {**message["details"], "task": message["task"]}
                self._events[message["name"]] = event
            self._changed.notify_all()
        if message["kind"] == "notice":
            TENSORFLOW.warning("%s", escaped(str(message["text"])))
        if event is not None and message["name"] == "failed":
            self._call_back(event)

    def _call_back(self, event: Mapping[str, Any]) -> None:
        with self._changed:
            callbacks, self._callbacks = self._callbacks, []
        if event["task"] == self.cluster.task and event["how"] in (REPORTED, STOPPED):
            return
        for callback in callbacks:
            # Callbacks get their own thread: heartbeats must go on while a session is closed.
            caller = threading.Thread(
                target=callback, args=(event["reason"],), name="openmox-failure", daemon=True
            )
            with contextlib.suppress(RuntimeError):  # The interpreter is already exiting.
                caller.start()

    def _numbered(self, key: str) -> str:
        if self.cluster.job != "worker":
            raise MoxRuntimeError(
                f"{self.cluster.task} took part in the exchange {key!r}, which is for workers only."
            )
        with self._changed:
            self._calls[key] += 1
            return f"{key}#{self._calls[key]}"

    def _await_value(self, key: str, shown: str, timeout: float | None) -> Any:
        began = time.monotonic()
        with self._changed:
            self._changed.wait_for(lambda: key in self._values or "failed" in self._events, timeout)
            if key in self._values:
                return self._values.pop(key)
        if (reason := self.first_failure()) is not None:
            raise PeerFailureError(f"{reason.rstrip('.')}. So there is no {shown} to be had.")
        waited = time.monotonic() - began
        raise MissingPeerError(
            f"Waited {waited:.0f} s for {shown}, and these did not come: "
            + ", ".join(self._who_is_missing(key))
        )

    def _who_is_missing(self, key: str) -> list[str]:
        if key.startswith("chief's "):
            return [f"worker 0 ({self.cluster.workers[0]})"]
        self._send({"kind": "missing", "key": key})
        with self._changed:
            self._changed.wait_for(lambda: key in self._missing, 2.0)
            unknown = [f"unknown, as the chief ({self.cluster.workers[0]}) does not answer"]
            return self._missing.pop(key, unknown)


def _checked(message: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(message)
    except (TypeError, ValueError) as error:
        raise MoxTypeError(f"Only JSON values can be sent to other tasks: {error}.") from None
    return message
