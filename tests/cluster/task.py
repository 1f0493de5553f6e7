"""A task as a process, for the tests: joins, steps until it is told to end, says what it saw.

Its argument is a JSON object: workers, ps, job, index, and optionally digest, timeout,
stall_timeout, steps (0: until a failure), fail_at, and rests: seconds after the steps, in which the
task works by itself if works is given.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

from moxing.cluster.cluster import Cluster
from moxing.cluster.control.channel import join
from moxing.cluster.control.hub import Hub, Peer
from moxing.cluster.control.member import Member
from moxing.cluster.control.spoke import Spoke
from moxing.cluster.serve import serve_ps
from moxing.errors import MoxError


def _say(text: str) -> None:
    """Writes a line in one piece: two threads write, and `print` would write its end apart."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _train(member: Member, given: dict[str, Any]) -> None:
    member.barrier("start", 60)
    _say("started")
    step = 0
    while given.get("steps", 0) == 0 or step < given["steps"]:
        step += 1
        member.report_step(step)
        if step == given.get("fail_at"):
            raise ValueError("the loss is not a number")
        if member.wait_failure(0.02) is not None:
            raise RuntimeError("aborted")
    _say(f"stepped at {time.time()}")
    if member.wait_failure(given.get("rests", 0)) is not None:
        raise RuntimeError("aborted")


def _tell_what_is_heard() -> None:
    """Prints of whom a heartbeat with a step has come: its death is told with a step from then."""
    beat, receive = Hub._beat, Spoke.receive

    def of_other(hub: Hub, peer: Peer, step: Any, works: bool) -> None:
        beat(hub, peer, step, works)
        if step:
            _say(f"heard {peer.task}")

    def of_chief(spoke: Spoke, task: str, message: dict[str, Any]) -> None:
        receive(spoke, task, message)
        if message["kind"] == "beat" and message.get("step"):
            _say("heard worker 0")

    Hub._beat, Spoke.receive = of_other, of_chief  # type: ignore[method-assign]


def main(given: dict[str, Any]) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    cluster = Cluster(
        tuple(given["workers"]), tuple(given["ps"]), given["job"], given["index"], "flags"
    )
    _tell_what_is_heard()
    try:
        with join(
            cluster,
            digest=given.get("digest", {}),
            timeout=given.get("timeout", 60),
            stall_timeout=given.get("stall_timeout", 30),
            works=lambda: given.get("works", False),
        ) as member:
            if cluster.job == "ps":
                serve_ps(member, lambda cluster: _say("started"))
            else:
                _train(member, given)
    except (MoxError, ValueError) as error:
        _say(f"{type(error).__name__}: {error}")
        sys.exit(1)
    _say(f"done at {time.time()}")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
