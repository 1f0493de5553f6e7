"""Ways to sum one tensor over two processes of this machine, in milliseconds, by size.

reduce: one CollectiveReduceV2; pieces of N: the tensor cut into N of them; gather:
CollectiveGatherV2 and an addition. `engine/reduce.py` chooses by these numbers.

    python benchmarks/collectives.py [--rounds 3]
"""

from __future__ import annotations

import argparse
import itertools
import os
import socket
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

REPEATS = {1_000: 200, 10_000: 200, 100_000: 100, 1_000_000: 30, 10_000_000: 5}
PIECES = (2, 4, 8)


def play(index: int, hosts: list[str], rounds: int) -> None:
    import tensorflow.compat.v1 as tf

    tf.enable_resource_variables()
    config = tf.ConfigProto()
    config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
    server = tf.distribute.Server({"worker": hosts}, "worker", index, config=config)
    keys = itertools.count(1)

    def common() -> dict[str, Any]:
        return {
            **{"group_size": 2, "group_key": 1, "instance_key": next(keys)},
            **{"ordering_token": [], "communication_hint": "auto", "timeout_seconds": 0},
        }

    def reduce(x: Any) -> Any:
        return tf.raw_ops.CollectiveReduceV2(input=x, merge_op="Add", final_op="Id", **common())

    def gather(x: Any) -> Any:
        both = tf.raw_ops.CollectiveGatherV2(input=x[None], **common())
        return both[0] + both[1]

    def pieces(count: int) -> Callable[[Any], Any]:
        return lambda x: tf.concat([reduce(part) for part in tf.split(x, count)], 0)

    ways = {"reduce": reduce, "gather": gather} | {f"pieces of {n}": pieces(n) for n in PIECES}
    operations = {}
    with tf.Graph().as_default() as graph, tf.device(f"/job:worker/task:{index}"):
        for size in REPEATS:
            variable = tf.get_variable(f"v{size}", [size], initializer=tf.ones_initializer())
            for name, way in ways.items():
                operations[size, name] = way(variable.read_value() * 1.5).op
        start = tf.global_variables_initializer()
    session = tf.Session(server.target, graph=graph, config=config)
    session.run(start)
    taken: dict[Any, list[float]] = defaultdict(list)
    for number, (key, op) in itertools.product(range(rounds + 1), operations.items()):
        step = session.make_callable(op)
        step()
        began = time.perf_counter()
        for _ in range(REPEATS[key[0]]):
            step()
        if number:  # The first round warms up.
            taken[key].append((time.perf_counter() - began) / REPEATS[key[0]] * 1000)
    for (size, name), values in taken.items():
        print(f"{size:>12,} floats  {name:12} {statistics.median(values):9.2f} ms", flush=True)
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hosts", help=argparse.SUPPRESS)
    parser.add_argument("--index", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.hosts:
        play(arguments.index, arguments.hosts.split(","), arguments.rounds)
    sockets = [socket.socket() for _ in range(2)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    hosts = ",".join(f"127.0.0.1:{one.getsockname()[1]}" for one in sockets)
    for one in sockets:
        one.close()
    command = [sys.executable, __file__, "--hosts", hosts, "--rounds", str(arguments.rounds)]
    other = subprocess.Popen([*command, "--index", "1"], stdout=subprocess.DEVNULL)
    try:
        subprocess.run([*command, "--index", "0"], check=True, timeout=600)
    finally:
        other.kill()


if __name__ == "__main__":
    main()
