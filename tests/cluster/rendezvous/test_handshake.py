"""Greetings of strangers, who may write whatever they like."""

from __future__ import annotations

from typing import Any

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.rendezvous import handshake

FORGED = "worker 7\x1b[31;1m\r\nINFO:tensorflow:forged line"


def greeting() -> dict[str, Any]:
    cluster = Cluster(("127.0.0.1:1", "127.0.0.1:2"))
    return handshake.hello(cluster, {"the flag --batch": "a\nb"})


def test_a_task_is_greeted() -> None:
    assert handshake.is_hello(greeting())


@pytest.mark.parametrize("key", ["task", "address", "process"])
@pytest.mark.parametrize("text", [FORGED, "a\nb", "\x9b2J", "\u202eabc", "\udcff", 7, None])
def test_a_greeting_that_would_forge_a_line_is_none(key: str, text: object) -> None:
    assert not handshake.is_hello({**greeting(), key: text})


def test_a_name_of_a_fact_that_would_forge_a_line_is_none() -> None:
    whole = greeting()

    assert not handshake.is_hello({**whole, "facts": {**whole["facts"], FORGED: "x"}})


def test_values_of_facts_are_shown_on_one_line() -> None:
    whole = greeting()
    other = {**whole, "task": "worker 1", "facts": {**whole["facts"], "openmox": FORGED}}

    told = handshake.differences(whole, other)

    assert told.isprintable()
    assert "forged line" in told
