"""How long many tasks take to meet, and to learn of a stop, a death and the end.

    python benchmarks/meeting.py [--members 50 200 1000 2000] [--limit SECONDS]

The tasks are threads of one process, on ports of loopback: their Python runs one after the
other, so that the times are those of a chief's machine that does the work of all others as well.
Prints a JSON object a line: seconds until all have met, passed a barrier, heard of a stop, heard of
a death (in a second job, of which one connection is cut), and left.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from moxing.cluster.cluster import Cluster
from moxing.cluster.control.channel import join
from moxing.cluster.control.member import Member
from moxing.cluster.failure import PeerFailureError
from moxing.launch.plan import free_ports

STALL_SECONDS = 300


def addresses(count: int) -> tuple[str, ...]:
    return tuple(f"127.0.0.1:{port}" for port in free_ports(count))


class Job:
    """Runs a body in each member, and keeps when each passed a mark."""

    def __init__(self, count: int, limit: float) -> None:
        self.count, self.limit = count, limit
        self.began = time.monotonic()
        self._marks: dict[str, list[float]] = {}
        self._errors: list[BaseException] = []
        self._lock = threading.Lock()

    def mark(self, name: str) -> None:
        with self._lock:
            self._marks.setdefault(name, []).append(time.monotonic())

    def seconds(self, name: str, since: str = "") -> float:
        """Until the last member passed a mark, from when the last one had passed another."""
        begin = max(self._marks[since]) if since else self.began
        return round(max(self._marks[name]) - begin, 3)

    def run(self, body: Callable[[Job, Member], None]) -> None:
        listed = addresses(self.count)

        def member(index: int) -> None:
            try:
                cluster = Cluster(listed, index=index)
                with join(
                    cluster, digest={}, timeout=self.limit, stall_timeout=STALL_SECONDS
                ) as me:
                    self.mark("met")
                    body(self, me)
            except PeerFailureError:
                pass
            except BaseException as error:
                self._errors.append(error)
            self.mark("left")

        threads = [threading.Thread(target=member, args=(i,)) for i in range(self.count)]
        for thread in threads:
            thread.start()
        self.mark("started")
        for thread in threads:
            thread.join(max(0.0, self.began + self.limit - time.monotonic()))
        late = sum(thread.is_alive() for thread in threads)
        if self._errors or late:
            first = repr(self._errors[0]) if self._errors else "no error"
            print(f"{self.count} members: {late} did not end; {first}", file=sys.stderr)
            sys.stderr.flush()
            os._exit(1)  # The threads that hang can't be ended.


def healthy(job: Job, me: Member) -> None:
    me.barrier("start", job.limit)
    job.mark("barrier")
    if me.cluster.index == 1:
        me.announce("stop")
    if me.wait("stop", job.limit) is None:
        raise TimeoutError("no stop was heard of")
    job.mark("stop")


def losing(job: Job, me: Member) -> None:
    me.barrier("start", job.limit)
    if me.cluster.index == 1:
        job.mark("cut")
        me._send.__self__._spoke._link.socket.shutdown(2)  # type: ignore[attr-defined]
        return
    if me.wait_failure(job.limit) is None:
        raise TimeoutError("no death was heard of")
    job.mark("death")


def measured(count: int, limit: float) -> dict[str, Any]:
    job = Job(count, limit)
    job.run(healthy)
    broken = Job(count, limit)
    broken.run(losing)
    return {
        "members": count,
        "started": job.seconds("started"),
        "met": job.seconds("met", "started"),
        "barrier": job.seconds("barrier", "met"),
        "stop": job.seconds("stop", "barrier"),
        "end": job.seconds("left", "stop"),
        "death": broken.seconds("death", "cut"),
        "end after a death": broken.seconds("left", "death"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[50, 200, 1000, 2000])
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each job")
    given = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    logging.disable()
    for count in given.members:
        print(json.dumps(measured(count, given.limit)), flush=True)


if __name__ == "__main__":
    main()
