"""The chief's listener before the start: gathers the tasks, and refuses other tasks.

The chief refuses a task that is not in its list, or whose facts differ from the chief's.
"""

from __future__ import annotations

import contextlib
import itertools
import selectors
import socket
import time
from collections.abc import Mapping
from typing import Any

from moxing.cluster.cluster import Cluster, named
from moxing.cluster.failure import MissingPeerError
from moxing.cluster.rendezvous import handshake
from moxing.cluster.rendezvous.files import room_for_strangers
from moxing.cluster.rendezvous.strangers import Strangers
from moxing.cluster.secret import FILE_VARIABLE, VARIABLE
from moxing.cluster.wire import Link, close_all
from moxing.errors import MoxRuntimeError
from moxing.logs import TENSORFLOW

PROGRESS_SECONDS = 10.0
MOST_NAMED = 10  # Tasks that one message names.
_TELL_SECONDS = 2.0
# After a refusal the job can't start any more; late tasks should still hear why.
_GRACE_SECONDS = 2.0


class Reception:
    """Gathers a link to each task. Connections without a valid greeting are dropped.

    Raises:
        MoxRuntimeError: the limit of open files is too low for a connection to each task.
    """

    def __init__(
        self, cluster: Cluster, listener: socket.socket, greeting: Mapping[str, Any], job: str
    ) -> None:
        self._cluster, self._listener, self._job = cluster, listener, job
        self._others = {t: address for t, address in cluster.tasks.items() if t != cluster.task}
        self._mine = greeting
        self._deadline = 0.0
        self._present: dict[str, tuple[Link, dict[str, Any]]] = {}
        self._refusal = ""
        self._selector = selectors.DefaultSelector()
        room = room_for_strangers(len(self._others))
        self._strangers = Strangers(cluster, listener, self._selector, room)

    def gather(self, deadline: float) -> dict[str, Link]:
        """Waits until all tasks are there and agree, and returns their links.

        Raises:
            MissingPeerError: a task is missing at the deadline; the others are told.
            MoxRuntimeError: two tasks differ; the others are told.
        """
        self._deadline = deadline
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        began = told = said = time.monotonic()
        try:
            while (count := self._count_missing()) or self._refusal:
                now = time.monotonic()
                if self._refusal and (not count or now >= deadline):
                    raise MoxRuntimeError(self._refusal)
                if now >= deadline:
                    raise MissingPeerError(_gave_up(listed(self._missing(), count), now - began))
                if self._refusal:
                    deadline = min(deadline, now + _GRACE_SECONDS)
                elif now - said >= PROGRESS_SECONDS:
                    said = now
                    names = listed(self._missing(), count)
                    TENSORFLOW.info("%s", waiting_line(names, deadline - now))
                if now - told >= _TELL_SECONDS:
                    told = now
                    self._tell(self._waiting(deadline - now))
                self._turn(now)
        except MoxRuntimeError as error:
            again = isinstance(error, MissingPeerError)
            self._tell({"kind": "refused", "reason": str(error), "again": again})
            self._close_all(linger=0.5)
            raise
        except BaseException:
            self._close_all()
            raise
        self._tell({"kind": "start", "job": self._job})
        self._close_strangers()
        return {task: link for task, (link, _) in self._present.items()}

    def _count_missing(self) -> int:
        return len(self._others) - len(self._present)

    def _missing(self) -> list[str]:
        """Returns the first missing tasks; a message to a thousand tasks does not list them all."""
        names = (named(t, address) for t, address in self._others.items() if t not in self._present)
        return list(itertools.islice(names, MOST_NAMED))

    def _waiting(self, left: float) -> dict[str, Any]:
        count = self._count_missing()
        return {"kind": "waiting", "missing": self._missing(), "count": count, "left": left}

    def _turn(self, now: float) -> None:
        for key, _ in self._selector.select(0.2):
            link: Any = key.fileobj
            if link is self._listener:
                self._strangers.accept()
            elif link in self._strangers:
                greeting = self._strangers.read(link)
                if greeting is not None:
                    self._meet(link, greeting)
            else:
                link.receive()  # The task waits and sends nothing: this notices its end.
                if link.lost is not None:
                    self._lose(link)
        self._strangers.expire(now)

    def _meet(self, link: Link, message: dict[str, Any]) -> None:
        if message["kind"] != "hello":
            self._refusal = self._refusal or _one_sided(self._cluster.address)
            self._strangers.refuse(link, self._refusal)
            return
        task = message["task"]
        known = self._mine if task == self._cluster.task else None
        if task in self._present:
            known = self._present[task][1]
        reason = handshake.twins(known, message) if known else ""
        reason = reason or handshake.differences(self._mine, message)
        stranger = task not in self._others and task != self._cluster.task
        if not reason and stranger:
            reason = f"{named(task, message['address'])} is not in the list of tasks."
        self._refusal = self._refusal or reason
        if known or stranger:
            self._strangers.refuse(link, reason)
            return
        self._strangers.release(link)
        self._present[task] = (link, message)
        link.send(self._waiting(self._deadline - time.monotonic()))

    def _lose(self, link: Link) -> None:
        for task, (present, _) in list(self._present.items()):
            if present is link:
                del self._present[task]
                gone = named(task, self._others[task])
                TENSORFLOW.info("%s has gone again before the start", gone)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(link)
        link.close()

    def _tell(self, message: dict[str, Any]) -> None:
        for link, _ in self._present.values():
            link.send(message)

    def _close_strangers(self) -> None:
        self._strangers.close()
        self._selector.close()

    def _close_all(self, linger: float = 0.0) -> None:
        close_all([link for link, _ in self._present.values()], linger)
        self._close_strangers()


def _one_sided(address: str) -> str:
    return (
        f"A task has a secret for this job, but worker 0, the chief ({address}), has none. Start"
        f" all tasks with the same {VARIABLE} or {FILE_VARIABLE}, or all without."
    )


def waiting_line(tasks: str, left: float) -> str:
    """The progress line, worded the same in every task."""
    return f"Waiting for {tasks}; {left:.0f} s left"


def listed(tasks: list[str], count: int) -> str:
    """Lists the first of `count` tasks."""
    shown = tasks[:MOST_NAMED]
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return ", ".join(shown) + more


def _gave_up(tasks: str, seconds: float) -> str:
    return (
        f"Gave up after {seconds:.0f} s: no sign of {tasks}. Check that each of them was "
        "started, with these addresses, and that it can reach this one."
    )
