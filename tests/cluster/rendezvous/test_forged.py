"""Messages of the meeting with values of every wrong type: nobody falls, and no line is forged."""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.rendezvous import dial, handshake, strangers
from moxing.cluster.rendezvous.reception import Reception
from moxing.cluster.secret import Secret
from moxing.cluster.wire import Link
from moxing.errors import MoxError

SECRET = Secret(b"correct horse battery staple")
VALUES: list[Any] = [None, True, -1, 10**4000, 1e308, float("nan"), float("inf"), "", "x" * 9000]
VALUES += ["\ud800", "\x1b[31m\r\nINFO:tensorflow:forged", [], [[]], ["\ud800"], {}, {"a": {}}]
VALUES += ["worker 1", "worker -1", "worker 99999999999", [None] * 5000]


def changed(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message without each of its parts, and with each wrong value in its place."""
    for key in whole:
        yield {name: part for name, part in whole.items() if name != key}
        yield from ({**whole, key: value} for value in VALUES)


def cluster(index: int, secret: Secret | None) -> Cluster:
    return Cluster(("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"), index=index, secret=secret)


def from_strangers() -> Iterator[dict[str, Any]]:
    greeting = handshake.hello(cluster(1, None), {"script": "train.py"})
    yield from changed(greeting)
    for facts in changed(greeting["facts"]):
        yield {**greeting, "facts": facts}
        yield {**greeting, "facts": facts, "protocol": 1}
    yield from changed(handshake.question())
    yield from changed({"kind": strangers.DOCTOR, "protocol": 2})


@pytest.mark.parametrize("secret", [SECRET, None], ids=["secret", "none"])
def test_a_chief_falls_over_no_greeting(
    secret: Secret | None, caplog: pytest.LogCaptureFixture
) -> None:
    """With a secret it also waits on; without one, a task that differs may end the job."""
    me = cluster(0, secret)
    with socket.create_server(("127.0.0.1", 0)) as listener, caplog.at_level("INFO"):
        for message in from_strangers():
            reception = Reception(me, listener, handshake.hello(me, {}), "job")
            one, other = socket.socketpair()
            link, theirs = Link(one), Link(other)
            stranger = strangers._Stranger(time.monotonic(), "10.0.0.1:5")
            reception._strangers._known[link] = stranger
            reception._selector.register(link, 1)
            with contextlib.suppress(ValueError):  # JSON of ours takes no such number.
                theirs.send(message)
            greeting = reception._strangers.read(link)
            assert secret is None or greeting is None
            if greeting is not None:
                reception._meet(link, greeting)
            said = str(MoxError(reception._refusal))
            assert "\nINFO:" not in said
            assert "\x1b" not in said
            assert len(said) < 20_000
            reception._close_all()
            theirs.close()
    assert all(text.isprintable() for text in caplog.messages)


def from_a_false_chief() -> Iterator[dict[str, Any]]:
    yield from changed({"kind": "waiting", "missing": ["worker 2"], "count": 1, "left": 5.0})
    yield from changed({"kind": "refused", "reason": "no", "again": False})
    yield from changed({"kind": "start", "job": "7"})


@pytest.mark.parametrize("proven", [True, False])
def test_a_task_falls_over_no_answer(proven: bool, caplog: pytest.LogCaptureFixture) -> None:
    """An impostor at the chief's address is no holder of the secret, or the job has no secret."""
    asked = handshake.question()
    proof = {"kind": "proof", "protocol": 2, "nonce": "0" * 32, "proof": "0" * 64}
    answers = from_a_false_chief() if proven else itertools.chain(changed(proof), [proof])
    for message in answers:
        dialer = dial._Dialer(cluster(1, None if proven else SECRET), {}, time.monotonic() + 60)
        dialer._asked = None if proven else asked
        one, other = socket.socketpair()
        link, theirs = Link(one), Link(other)
        with contextlib.suppress(ValueError):
            theirs.send(message)
        dialer._began -= 1000.0
        dialer._said -= 1000.0
        said = ""
        with caplog.at_level("INFO"):
            try:
                dialer._read(link)
                dialer._check_time()
            except MoxError as error:
                said = str(error)
        assert "\nINFO:" not in said
        assert "\x1b" not in said
        link.close(), theirs.close()
    assert all(text.isprintable() for text in caplog.messages)
