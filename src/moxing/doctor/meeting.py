"""Lets the doctors of a cluster's machines ask each other for their facts and their clocks.

They also compare the job's secret without sending it: the answering doctor proves that it has the
secret.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from moxing.cluster import addresses
from moxing.cluster.cluster import WORKER, Cluster, named
from moxing.cluster.rendezvous import handshake, ports
from moxing.cluster.rendezvous.strangers import DOCTOR as _KIND
from moxing.cluster.secret import Secret
from moxing.cluster.wire import LONGEST_HELLO
from moxing.doctor.finding import BAD, GOOD, NOTE, Finding
from moxing.errors import MoxError, shown

_ANSWER_SECONDS = 2.0
_PAUSE = 0.2
_MUCH_SECONDS = 1.0
_CHIEF = f"{WORKER} 0"


def findings(cluster: Cluster, seconds: float) -> Iterator[Finding]:
    """Answers the other doctors on this task's port, and asks them on their ports.

    Args:
        cluster: the tasks.
        seconds: the longest wait for the others.
    """
    # The kind is not `hello`: a job that waits for its tasks must not take a doctor for a task.
    mine = {**handshake.hello(cluster, {}), "kind": _KIND, "nonce": secrets.token_hex(16)}
    deadline = time.monotonic() + seconds
    try:
        listener = ports.take(cluster)
    except MoxError as error:
        yield Finding(BAD, "own port", str(error))
        return
    with listener:
        asked_by: set[str] = set()
        answers = threading.Thread(
            target=_answer, args=(listener, cluster.secret, mine, asked_by), daemon=True
        )
        answers.start()
        others = [task for task in cluster.tasks if task != cluster.task]
        found = _ask_all(cluster, others, mine, deadline)
        while not asked_by.issuperset(others) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # This wakes the thread.
        answers.join(_ANSWER_SECONDS)
    for task in others:
        what = named(task, cluster.tasks[task])
        if task in found and found[task][0]["kind"] != _KIND:
            reason = shown(found[task][0]["reason"])
            yield Finding(NOTE, what, f"no doctor answered, but: {reason}")
        elif task in found and (
            difference := _secrets_differ(cluster.secret, mine, found[task][0])
        ):
            yield Finding(BAD, what, f"answers, but {difference}")
        elif task in found:
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
    """Returns each doctor's answer, and by how many seconds its clock is ahead of this one.

    An answer is the greeting of a doctor, or the reason for which there is none.
    """
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
    if theirs.get("kind") == "refused" and isinstance(theirs.get("reason"), str):
        return theirs, 0.0
    at = theirs.get("time")
    if not _is_doctor(theirs) or not isinstance(at, float):
        return None
    return theirs, at - (before + after) / 2


def _answer(
    listener: socket.socket, secret: Secret | None, mine: Mapping[str, Any], asked_by: set[str]
) -> None:
    """Answers one question after another, until the listener is closed."""
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
                proof = {} if secret is None else {"proof": _proof(secret, theirs, mine)}
                _write(link, {**mine, **proof, "time": time.time()})
                asked_by.add(theirs["task"])


def _is_doctor(message: Mapping[str, Any]) -> bool:
    return message.get("kind") == _KIND and handshake.is_hello({**message, "kind": "hello"})


def _proof(secret: Secret, asks: Mapping[str, Any], answers: Mapping[str, Any]) -> str:
    return secret.proof(_KIND, str(asks.get("nonce")), str(answers.get("nonce")))


def _secrets_differ(
    secret: Secret | None, mine: Mapping[str, Any], theirs: Mapping[str, Any]
) -> str:
    """Words how another task's secret differs from this one's; "" if it does not."""
    if secret is None:
        return "it has a secret of the job, and this task has none" if "proof" in theirs else ""
    if "proof" not in theirs:
        return "it has no secret of the job, and this task has one"
    nonces = str(mine.get("nonce")), str(theirs.get("nonce"))
    same = secret.proves(theirs["proof"], _KIND, *nonces)
    return "" if same else "its secret of the job is not the secret that this task has"


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
    """Reads one message; returns an empty one if nonsense arrives."""
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
