"""How long a chief takes to serve many tasks, and how much of that its own process computes.

    python benchmarks/chief.py [--members 50 200 1000 2000] [--seconds 5] [--no-secret]

The chief has this process for itself. One thread of another process plays all other tasks, over
real connections on loopback. So the CPU seconds are the chief's own, however busy the machine is;
`benchmarks/meeting.py` runs whole tasks instead, as the threads of one process. Prints a JSON
object a line: for each part of a job, the seconds and the chief's CPU seconds until all tasks are
through. `running` is what the chief computes in a second of a running job.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import logging
import multiprocessing
import resource
import selectors
import socket
import time
from typing import Any

from moxing.cluster.cluster import Cluster
from moxing.cluster.control.channel import join
from moxing.cluster.failure import PeerFailureError
from moxing.cluster.rendezvous import handshake
from moxing.cluster.secret import Secret
from moxing.cluster.wire import LONGEST, Link
from moxing.launch.ports import free_ports

LIMIT = 300.0
SECRET = Secret(b"a secret of the benchmark alone")
AT_ONCE = 50  # Tasks that dial between two looks at the answers.


class Task:
    """One of the other tasks: greets, and answers what the chief sends."""

    def __init__(self, cluster: Cluster, dies: bool) -> None:
        self._cluster, self._dies = cluster, dies
        self.link = Link(dialed(cluster.workers[0]), LONGEST)
        self._asked = handshake.question() if cluster.secret else None
        self.link.send(self._asked or handshake.hello(cluster, {}))

    def turn(self) -> None:
        self.link.flush()
        while messages := self.link.receive(1):
            self._answer(messages[0])

    def beat(self) -> None:
        if self._asked is None:
            self.link.send({"kind": "beat", "step": 1})

    def _answer(self, message: dict[str, Any]) -> None:
        name = message.get("name")
        if self._asked is not None:
            assert self._cluster.secret is not None
            ask, answer = self._asked["nonce"], message["nonce"]
            handshake.seal(self.link, self._cluster.secret, handshake.TASK, ask, answer)
            self._asked = None
            self.link.send(handshake.hello(self._cluster, {}))
        elif message["kind"] == "start":
            self.link.send({"kind": "gather", "key": "barrier start#1", "value": None})
        elif name == "stop" and self._dies:
            if self._cluster.index == 1:
                self.link.socket.shutdown(socket.SHUT_RDWR)
        elif name == "stop":
            self.link.send({"kind": "event", "name": "finished"})
        elif name in ("all_finished", "failed"):
            self.link.socket.shutdown(socket.SHUT_WR)


def dialed(address: str) -> socket.socket:
    host, port = address.split(":")
    until = time.monotonic() + 10
    while True:  # The chief may not listen yet.
        try:
            return socket.create_connection((host, int(port)), LIMIT)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def play(workers: tuple[str, ...], secret: Secret | None, dies: bool) -> None:
    """Plays all tasks but the chief, until the chief has ended every connection."""
    logging.disable()
    coming = iter(range(1, len(workers)))
    tasks: list[Task] = []
    beaten = time.monotonic()
    with selectors.DefaultSelector() as selector:
        while True:
            for index in itertools.islice(coming, AT_ONCE):
                tasks.append(Task(Cluster(workers, index=index, secret=secret), dies))
                selector.register(tasks[-1].link, selectors.EVENT_READ, tasks[-1])
            for key, _ in selector.select(0.1 if len(tasks) == len(workers) - 1 else 0):
                key.data.turn()
                if key.data.link.lost is not None:
                    selector.unregister(key.fileobj)
            if len(tasks) == len(workers) - 1 and not selector.get_map():
                return
            if time.monotonic() - beaten >= 1:
                beaten = time.monotonic()
                for task in tasks:
                    task.beat()


class Clock:
    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}
        self._last = self._now()

    def _now(self) -> tuple[float, float]:
        return time.monotonic(), time.process_time()

    def mark(self, name: str) -> None:
        """Keeps the seconds and the CPU seconds since the last mark."""
        now = self._now()
        self.found[name] = [round(b - a, 3) for a, b in zip(self._last, now, strict=True)]
        self._last = now


def served(count: int, secret: Secret | None, seconds: float, dies: bool) -> dict[str, Any]:
    """What a job took of which all tasks end well, or of which one dies."""
    workers = tuple(f"127.0.0.1:{port}" for port in free_ports(count))
    others = multiprocessing.get_context("fork").Process(
        target=play, args=(workers, secret, dies), daemon=True
    )
    clock = Clock()
    cluster = Cluster(workers, index=0, secret=secret)
    others.start()
    with (
        contextlib.suppress(PeerFailureError),
        join(cluster, digest={}, timeout=LIMIT, stall_timeout=LIMIT) as me,
    ):
        clock.mark("met")
        me.barrier("start", LIMIT)
        clock.mark("barrier")
        if not dies:
            time.sleep(seconds)
            clock.mark("running")
            clock.found["running"] = [1.0, round(clock.found["running"][1] / seconds, 3)]
        me.announce("stop")
        if dies and me.wait_failure(LIMIT) is None:
            raise TimeoutError("no death was heard of")
        clock.mark("death" if dies else "stop")
    clock.mark("end after a death" if dies else "end")
    others.join(LIMIT)
    return clock.found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[50, 200, 1000, 2000])
    parser.add_argument("--seconds", type=float, default=5.0, help="how long a job runs")
    parser.add_argument("--no-secret", action="store_true", help="jobs without a secret")
    given = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    logging.disable()
    secret = None if given.no_secret else SECRET
    for count in given.members:
        well = served(count, secret, given.seconds, dies=False)
        ill = served(count, secret, 0.0, dies=True)
        of_death = {name: ill[name] for name in ("death", "end after a death")}
        print(json.dumps({"members": count, **well, **of_death}), flush=True)


if __name__ == "__main__":
    main()
