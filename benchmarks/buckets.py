"""What gradients that travel together, and while others are still computed, gain between workers.

Two workers of `two_workers.py`, in turns with each way:

- as is: tensors below 1 MiB share messages of up to 2 MiB, each sent when its tensors are known,
- alone: every tensor in a message of its own,
- 256 KiB, 8 MiB: other limits of the two,
- late: as is, but nothing is sent before the last gradient is known: no overlap.

The network `deep` has 26 layers, 52 tensors and 1.8 million parameters; the others are those of
`two_workers.py`.

    python benchmarks/buckets.py [--sizes deep,1.3,10] [--seconds 6] [--rounds 3]
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import two_workers

from moxing.launch.plan import free_ports

KIB, MIB = 1024, 1024 * 1024
# The largest tensor that shares a message, and the largest such message.
LIMITS = {"alone": (0, 0), "256 KiB": (128 * KIB, 256 * KIB), "8 MiB": (4 * MIB, 8 * MIB)}
WAYS = ("as is", *LIMITS, "late")
two_workers.HIDDEN["deep"] = [256] * 25


def change(way: str) -> None:
    """Makes this process send its gradients that way."""
    from moxing.engine.parallel import reduce

    if way in LIMITS:
        reduce._SMALL, reduce._BUCKET = LIMITS[way]
    if way == "late":
        reduce.Spread.mean = functools.partialmethod(_late, reduce.Spread.mean)


def _late(self: Any, mean: Any, gradients: Sequence[Sequence[Any]]) -> Any:
    import tensorflow.compat.v1 as tf

    with tf.control_dependencies([one.op for of_device in gradients for one in of_device]):
        waiting = [[tf.identity(one) for one in of_device] for of_device in gradients]
    return mean(self, waiting)


def play(way: str, size: str, seconds: float, hosts: str, index: int) -> None:
    change(way)
    flags = [f"--worker_hosts={hosts}", "--job_name=worker", f"--task_index={index}"]
    two_workers.openmox(size, seconds, flags)


def measure(way: str, size: str, seconds: float) -> float:
    """Steps a second of both workers."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    own = ["--way", way, "--sizes", size, "--seconds", str(seconds), "--hosts", hosts]
    command = [sys.executable, __file__, *own, "--index"]
    pipe: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    processes = [subprocess.Popen([*command, str(index)], **pipe) for index in (0, 1)]
    found = two_workers.result(processes, seconds, f"{way} at {size}")
    return found["steps_per_second"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="deep,1.3,10")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--rounds", type=int, default=3)
    for hidden in ("--way", "--hosts"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--index", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        play(given.way, given.sizes, given.seconds, given.hosts, given.index)
        return
    for size in given.sizes.split(","):
        rates: dict[str, list[float]] = {way: [] for way in WAYS}
        for number in range(given.rounds):
            for way in WAYS if number % 2 == 0 else reversed(WAYS):
                rates[way].append(measure(way, size, given.seconds))
        ours = statistics.median(rates["as is"])
        print(f"{size}, {given.rounds} rounds, load {os.getloadavg()[0]:.1f}")
        for way in WAYS:
            rate = statistics.median(rates[way])
            print(f"  {way:8} {rate:8.1f} steps/s, {rate / ours:5.2f} of as is", flush=True)


if __name__ == "__main__":
    main()
