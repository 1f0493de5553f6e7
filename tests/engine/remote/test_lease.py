"""One run at a time trains in a directory of a store; a dead one's place can be taken."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import runs

from moxing.engine.remote import log_dir
from moxing.engine.remote.lease import NAME, Lease
from moxing.errors import MoxRuntimeError
from moxing.framework import file, owners

BEAT, LIMIT = 0.2, 2.0


def never() -> None:
    raise AssertionError("lost")


def write(url: str, **fields: Any) -> None:
    owner = {"nonce": "n", "pid": 7, "host": "gpu-3", "since": "2026-11-28 01:02:03+00:00"}
    owner |= {"machine": "other", "started": "1", "beat": 1}
    file.write(f"{url}/{NAME}", json.dumps(owner | fields))


@contextmanager
def beating(url: str) -> Iterator[None]:
    """Another run, which renews its lease all the time: one renewal may meet one of ours."""
    over = threading.Event()

    def beat() -> None:
        for count in itertools.count(2):
            if over.wait(0.05):
                return
            write(url, beat=count)

    other = threading.Thread(target=beat)
    other.start()
    try:
        yield
    finally:
        over.set()
        other.join()


def test_it_is_taken_and_given_back(bucket: str) -> None:
    lease = Lease(bucket, never, BEAT, LIMIT)
    lease.take()
    first = json.loads(file.read(f"{bucket}/{NAME}"))
    assert (first["pid"], first["machine"]) == (os.getpid(), owners.machine())
    until = time.monotonic() + 30
    while json.loads(file.read(f"{bucket}/{NAME}"))["beat"] == first["beat"]:
        assert time.monotonic() < until, "it is not renewed"
        time.sleep(0.1)
    assert lease.confirm()
    lease.release()
    assert not file.exists(f"{bucket}/{NAME}")


def test_a_dead_owner_on_another_machine_is_waited_for(bucket: str, log: Any) -> None:
    write(bucket)
    began = time.monotonic()
    lease = Lease(bucket, never, BEAT, LIMIT)
    lease.take()
    assert LIMIT <= time.monotonic() - began < 45  # Not the minute and a half of a real run.
    lease.release()
    who = "process 7 on gpu-3, since 2026-11-28 01:02:03+00:00"
    assert runs.messages(log) == [
        f"{bucket} belongs to {who}. Waiting up to 2 s to see whether that run is alive.",
        f"Taking over {bucket}: {who} has shown no life for 2 s.",
    ]


def test_a_living_owner_on_another_machine_is_named(bucket: str) -> None:
    write(bucket)
    with beating(bucket), pytest.raises(MoxRuntimeError) as caught:
        Lease(bucket, never, BEAT, LIMIT).take()
    assert str(caught.value) == (
        f"Another run is training in {bucket}: process 7 on gpu-3, since 2026-11-28 01:02:03+00:00."
        " Wait for its end or stop it, or give this run a log_dir of its own."
    )


def test_a_dead_owner_on_this_machine_is_not_waited_for(bucket: str) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for fields in ({"pid": ended.pid}, {"pid": os.getpid(), "started": "0"}):
        write(bucket, machine=owners.machine(), **fields)
        began = time.monotonic()
        lease = Lease(bucket, never, BEAT, limit=60)
        lease.take()
        assert time.monotonic() - began < 45  # Not the limit.
        lease.release()


def test_who_loses_it_notices(bucket: str, log: Any) -> None:
    lost = threading.Event()
    lease = Lease(bucket, lost.set, BEAT, LIMIT)
    lease.take()
    with beating(bucket):
        assert lost.wait(30)
    assert not lease.confirm()
    lease.release()
    assert json.loads(file.read(f"{bucket}/{NAME}"))["nonce"] == "n"
    assert runs.messages(log) == [
        f"Another run trains in {bucket} now: process 7 on gpu-3, since 2026-11-28 01:02:03+00:00."
        " This one uploads nothing more."
    ]


def test_a_run_that_lost_it_ends_and_uploads_nothing(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noticed = threading.Event()

    def quick(directory: str, lost: Callable[[], None]) -> Lease:
        def both() -> None:
            lost()
            noticed.set()

        return Lease(directory, both, BEAT, LIMIT)

    monkeypatch.setattr(log_dir, "Lease", quick)
    url = f"{bucket}/out"

    def generator() -> Any:
        yield 1.0
        with beating(url):
            assert noticed.wait(30)
        yield 1.0

    with pytest.raises(MoxRuntimeError) as caught:
        runs.execute(log_dir=url, input_fn=runs.generated(generator), max_steps=2)
    assert str(caught.value).startswith(
        f"{url} was removed or replaced while this run trained in it; another run may train there"
    )
    assert not [n for n in file.list_directory(url) if n.startswith("model.ckpt-2")]
