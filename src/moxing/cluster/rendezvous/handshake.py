"""The messages of the rendezvous: proofs of the secret, and facts that must be equal."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import socket
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from moxing import __version__
from moxing.cluster.cluster import Cluster, named
from moxing.cluster.secret import FILE_VARIABLE, VARIABLE, Secret
from moxing.cluster.wire import Link
from moxing.errors import escaped, shown

PROTOCOL = 2  # In version 1, tasks had no secret.
CHIEF, TASK = "the chief", "a task"  # The names of a connection's sides in proofs and seals.
_NONCE_BYTES = 16
_LONGEST_NONCE = 64
_MOST_FACTS = 1000
_LONGEST_LIST = 8 << 10  # Characters; a greeting must not be too long.


def hello(cluster: Cluster, digest: Mapping[str, str]) -> dict[str, Any]:
    """Returns a task's greeting: its identity, and the facts that must be equal in all tasks."""
    return {
        "kind": "hello",
        "protocol": PROTOCOL,
        "task": cluster.task,
        "address": cluster.address,
        "process": f"process {os.getpid()} on {socket.gethostname()}",
        "facts": {
            "the list of workers": _list(cluster.workers),
            "the list of ps": _list(cluster.ps),
            "openmox": __version__,
            "TensorFlow": _version("tensorflow"),
            "Python": ".".join(platform.python_version_tuple()[:2]),
            **{str(name): str(value) for name, value in digest.items()},
        },
    }


def question() -> dict[str, Any]:
    """Returns the first message of a task that has the secret: it asks for a proof."""
    return {"kind": "prove", "protocol": PROTOCOL, "nonce": secrets.token_hex(_NONCE_BYTES)}


def answer(secret: Secret, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the chief's proof and question; the task proves itself by its next sealed message."""
    nonce = secrets.token_hex(_NONCE_BYTES)
    proof = secret.proof(CHIEF, asked["nonce"], nonce)
    return {"kind": "proof", "protocol": PROTOCOL, "nonce": nonce, "proof": proof}


def is_question(message: Mapping[str, Any]) -> bool:
    """Whether a stranger's message asks for a proof in this version of the protocol."""
    return message.get("kind") == "prove" and message.get("protocol") == PROTOCOL and _asks(message)


def is_proof(secret: Secret, asked: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Whether a message answers a question as only a holder of the secret can."""
    return (
        message.get("kind") == "proof"
        and _asks(message)
        and secret.proves(message.get("proof"), CHIEF, asked["nonce"], message["nonce"])
    )


def seal(link: Link, secret: Secret, side: str, ask: str, answered: str) -> None:
    """Seals all later messages on a link with the random numbers of both sides."""
    own, other = (
        secret.seal(name, ask, answered) for name in (side, CHIEF if side == TASK else TASK)
    )
    link.seal(own, other)


def lacks_secret(address: str) -> str:
    """The refusal that a chief at `address` with a secret sends to a task without the secret."""
    return (
        f"worker 0, the chief ({address}), takes only tasks that have the job's secret. Start"
        f" this task as the others were, with {VARIABLE} or {FILE_VARIABLE}, and with the same"
        " version of openmox."
    )


def _asks(message: Mapping[str, Any]) -> bool:
    nonce = message.get("nonce")
    return isinstance(nonce, str) and nonce.isascii() and 0 < len(nonce) <= _LONGEST_NONCE


def _list(addresses: tuple[str, ...]) -> str:
    """Returns a list for comparison; of a long list, both ends and a digest."""
    text = ",".join(addresses)
    if len(text) <= _LONGEST_LIST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{addresses[0]} ... {addresses[-1]} ({len(addresses)} tasks, sha256 {digest})"


def is_hello(message: Mapping[str, Any]) -> bool:
    """Whether a stranger's message is a whole greeting."""
    facts = message.get("facts")
    return (
        message.get("kind") == "hello"
        and all(_is_line(message.get(key)) for key in ("task", "address", "process"))
        and isinstance(facts, dict)
        and len(facts) <= _MOST_FACTS
        and all(_is_line(name) and isinstance(value, str) for name, value in facts.items())
    )


def _is_line(value: object) -> bool:
    """Whether a value is text that is safe to print: it can't forge a line of a log."""
    return isinstance(value, str) and value == escaped(value)


def differences(chief: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Words the differences between two tasks, with both values; "" if there are none."""
    if other.get("protocol") != chief["protocol"]:
        version = shown(other["facts"].get("openmox"), plain=True)
        return (
            f"{_who(other)} runs another version of openmox ({version}) than "
            f"the chief ({chief['facts']['openmox']})."
        )
    mine, theirs = chief["facts"], other["facts"]
    names = [name for name in [*mine, *theirs] if mine.get(name) != theirs.get(name)]
    if not names:
        return ""
    listed = "; ".join(
        f"{name} is {_value(mine, name)} in worker 0 and {_value(theirs, name)} in {other['task']}"
        for name in dict.fromkeys(names)
    )
    return f"{_who(other)} differs from the chief: {listed}. All tasks must be started alike."


def twins(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """The message for two processes that say they are the same task."""
    return (
        f"Two processes say that they are {first['task']}: {first['process']} and "
        f"{second['process']}. Give each its own task index."
    )


def _who(greeting: Mapping[str, Any]) -> str:
    return named(greeting["task"], greeting["address"])


def _value(facts: Mapping[str, str], name: str) -> str:
    return shown(facts[name], plain=True) or "empty" if name in facts else "not set"


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
