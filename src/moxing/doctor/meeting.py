"""Doctors of a cluster's machines ask each other: who answers, what differs, what time it is."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from moxing.cluster import addresses, handshake, ports
from moxing.cluster.cluster import WORKER, Cluster, named
from moxing.cluster.wire import LONGEST_HELLO
from moxing.doctor.finding import BAD, GOOD, NOTE, Finding
from moxing.errors import MoxError

_KIND = "doctor"
_ANSWER_SECONDS = 2.0
_PAUSE = 0.2
_MUCH_SECONDS = 1.0
_CHIEF = f"{WORKER} 0"


def findings(cluster: Cluster, seconds: float) -> Iterator[Finding]:
    """Answers the other doctors on this task's port, and asks them on theirs.

    Args:
        cluster: the tasks.
        seconds: how long to wait for the others at most.
    """
    # Not `hello`: a job that is waiting for its tasks must not take a doctor for one.
    mine = {**handshake.hello(cluster, {}), "kind": _KIND}
    deadline = time.monotonic() + seconds
    try:
        listener = ports.take(cluster)
    except MoxError as error:
        yield Finding(BAD, "own port", str(error))
        return
    with listener:
        asked_by: set[str] = set()
        answers = threading.Thread(target=_answer, args=(listener, mine, asked_by), daemon=True)
        answers.start()
        others = [task for task in cluster.tasks if task != cluster.task]
        found = _ask_all(cluster, others, mine, deadline)
        while not asked_by.issuperset(others) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # Wakes the thread.
        answers.join(_ANSWER_SECONDS)
    for task in others:
        what = named(task, cluster.tasks[task])
        if task in found:
            yield from _compared(what, mine, *found[task])
        else:
            yield Finding(
                BAD,
                what,
                f"no doctor answered in {seconds:g} s: run mox doctor --cluster --meet={seconds:g}"
                " there at the same time, and look at firewalls",
            )


def _ask_all(
    cluster: Cluster, others: list[str], mine: Mapping[str, Any], deadline: float
) -> dict[str, tuple[dict[str, Any], float]]:
    """Each one's greeting, and by how many seconds its clock is ahead of this one."""
    found: dict[str, tuple[dict[str, Any], float]] = {}
    while len(found) < len(others) and time.monotonic() < deadline:
        for task in others:
            if task not in found and (answer := _ask(cluster.tasks[task], mine)):
                found[task] = answer
        time.sleep(_PAUSE)
    return found


def _ask(address: str, mine: Mapping[str, Any]) -> tuple[dict[str, Any], float] | None:
    try:
        with socket.create_connection(addresses.split(address), _ANSWER_SECONDS) as link:
            before = time.time()
            _write(link, mine)
            theirs = _read(link)
            after = time.time()
    except OSError:
        return None
    at = theirs.get("time")
    if not _is_doctor(theirs) or not isinstance(at, float):
        return None
    return theirs, at - (before + after) / 2


def _answer(listener: socket.socket, mine: Mapping[str, Any], asked_by: set[str]) -> None:
    """Until the listener is closed; one at a time, as a question takes no time."""
    listener.settimeout(None)
    while True:
        try:
            link, _ = listener.accept()
        except OSError:
            return
        with contextlib.suppress(OSError), link:
            link.settimeout(_ANSWER_SECONDS)
            theirs = _read(link)
            if _is_doctor(theirs):
                _write(link, {**mine, "time": time.time()})
                asked_by.add(theirs["task"])


def _is_doctor(message: Mapping[str, Any]) -> bool:
    return message.get("kind") == _KIND and handshake.is_hello({**message, "kind": "hello"})


def _compared(
    what: str, mine: Mapping[str, Any], theirs: Mapping[str, Any], ahead: float
) -> Iterator[Finding]:
    # Worded as seen from the chief; of two others, each is compared with the chief.
    first, second = (mine, theirs) if mine["task"] == _CHIEF else (theirs, mine)
    difference = handshake.differences(first, second) if first["task"] == _CHIEF else ""
    if difference:
        yield Finding(BAD, what, f"answers, but: {difference}")
        return
    clock = f"its clock is {abs(ahead):.2f} s {'ahead of' if ahead > 0 else 'behind'} this one"
    if abs(ahead) > _MUCH_SECONDS:
        yield Finding(NOTE, what, f"answers; {clock}: log lines will not line up. Set up NTP")
    else:
        yield Finding(GOOD, what, f"answers; {clock}")


def _write(link: socket.socket, message: Mapping[str, Any]) -> None:
    link.sendall(json.dumps(message).encode() + b"\n")


def _read(link: socket.socket) -> dict[str, Any]:
    """One message; an empty one where nonsense arrives."""
    data = b""
    deadline = time.monotonic() + _ANSWER_SECONDS
    while not data.endswith(b"\n"):
        part = link.recv(4096)
        data += part
        if not part or len(data) > LONGEST_HELLO or time.monotonic() > deadline:
            return {}
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}
