"""What `mox launch --private` costs: bandwidth, latency and steps between two machines.

    python benchmarks/private_network.py --hosts=A,B [--rounds N] [--megabytes N] [--steps N]
    python tools/two_hosts.py --install python benchmarks/private_network.py --hosts=n1,n2

The second command makes the two machines of namespaces (root). Each round launches one job with and
without `--private`, one after the other. Prints a JSON object a measurement, and at the end the
medians side by side with their ratio: microseconds of a round trip of 64 bytes, megabytes a second
of one connection and of four, and milliseconds of a training step with gradients of 4 and 40 MB.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from moxing.launch.hosts import spread
from moxing.launch.plan import Plan
from moxing.launch.private.job import private
from moxing.launch.supervise import supervise

MARK = "measured "
SMALL, TRIPS = 64, 1000
CHUNK = bytes(1 << 20)
LANES = 4
STEP_MEGABYTES = (4, 40)
LESS_IS_BETTER = ("round_trip_us", *(f"step_{size}_mb_ms" for size in STEP_MEGABYTES))


def everything(connection: socket.socket, count: int) -> None:
    buffer = bytearray(1 << 20)
    while count:
        got = connection.recv_into(buffer, min(count, len(buffer)))
        if not got:
            raise EOFError(f"{count} bytes are missing")
        count -= got


def answer(listener: socket.socket, megabytes: int) -> None:
    """The second machine's part: echoes the small messages, and takes the large ones."""
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(TRIPS):
        everything(connection, SMALL)
        connection.sendall(bytes(SMALL))
    for lanes in (1, LANES):
        taken = [listener.accept()[0] for _ in range(lanes)]
        each = (megabytes // lanes) << 20
        threads = [threading.Thread(target=everything, args=(lane, each)) for lane in taken]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        connection.sendall(b"!")
        for lane in taken:
            lane.close()


def connected(host: str, port: int) -> socket.socket:
    deadline = time.monotonic() + 60
    while True:
        try:
            found = socket.create_connection((host, port), 60)
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return found
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def echoed(host: str, port: int) -> socket.socket:
    """A connection whose other end has answered: a forwarder takes one before that end is there."""
    while True:
        found = connected(host, port)
        try:
            found.sendall(bytes(SMALL))
            everything(found, SMALL)
            return found
        except (OSError, EOFError):
            found.close()
            time.sleep(0.2)


def ask(host: str, port: int, megabytes: int) -> dict[str, float]:
    """The first machine's part, which measures."""
    connection, trips = echoed(host, port), []
    for _ in range(TRIPS - 1):
        began = time.perf_counter()
        connection.sendall(bytes(SMALL))
        everything(connection, SMALL)
        trips.append(time.perf_counter() - began)
    found = {"round_trip_us": statistics.median(trips) * 1e6}
    for lanes in (1, LANES):
        made = [connected(host, port) for _ in range(lanes)]
        began = time.perf_counter()
        count = megabytes // lanes

        def send(lane: socket.socket, count: int = count) -> None:
            for _ in range(count):
                lane.sendall(CHUNK)

        threads = [threading.Thread(target=send, args=(lane,)) for lane in made]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        everything(connection, 1)
        seconds = time.perf_counter() - began
        found[f"mb_per_s_{lanes}"] = count * lanes / seconds
        for lane in made:
            lane.close()
    return found


def train(megabytes: int, steps: int) -> dict[str, float]:
    """Milliseconds of a step of `mox.run` whose gradients have this size."""
    import tensorflow.compat.v1 as tf

    import moxing.tensorflow as mox

    times: list[float] = []

    class Clock(mox.AggregativeSessionRunHook):
        def after_run(self, run_context, run_values) -> None:  # noqa: ANN001
            times.append(time.perf_counter())

    def model_fn(inputs, mode):  # noqa: ANN001, ANN202
        side = int((megabytes * 1024 * 256) ** 0.5)
        w = tf.get_variable("w", [side, side], initializer=tf.zeros_initializer())
        return mox.ModelSpec(loss=tf.reduce_sum(w * inputs[0]), hooks=[Clock()])

    mox.run(
        input_fn=lambda mode: [tf.constant([1e-6])],
        model_fn=model_fn,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(1e-6),
        run_mode=mox.ModeKeys.TRAIN,
        max_number_of_steps=steps,
        log_every_n_steps=10**6,
    )
    gaps = [late - early for early, late in zip(times[2:], times[3:], strict=False)]
    return {f"step_{megabytes}_mb_ms": statistics.median(gaps) * 1e3}


def task(given: argparse.Namespace) -> None:
    addresses = [part.rpartition(":") for part in given.worker_hosts.split(",")]
    if given.step_megabytes:
        found = train(given.step_megabytes, given.steps)
    elif given.task_index == 1:
        with socket.create_server(("", int(addresses[1][2]))) as listener:
            answer(listener, given.megabytes)
        return
    else:
        found = ask(addresses[1][0], int(addresses[1][2]), given.megabytes)
    if given.task_index == 0:
        print(MARK + json.dumps(found), flush=True)


def launch(given: argparse.Namespace) -> int:
    """Runs one job; the small messages need no TensorFlow, whose import takes far longer."""
    words = ["--part=task", f"--megabytes={given.megabytes}", f"--steps={given.steps}"]
    words.append(f"--step_megabytes={given.step_megabytes}")
    plain = {"runner": (sys.executable,)} if given.step_megabytes == 0 else {}
    plan = Plan(str(Path(__file__).resolve()), tuple(words), 2, **plain)
    job = spread(plan, given.hosts, given.port)
    hidden = private(job) if given.private else None
    network = None if hidden is None else hidden.network
    return supervise(hidden or job, Path(given.logs), 0, network=network)


def launched(given: argparse.Namespace, hidden: bool, size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as logs:
        words = [sys.executable, str(Path(__file__).resolve()), "--part=launch", f"--logs={logs}"]
        words += [f"--hosts={given.hosts}", f"--port={given.port}", f"--steps={given.steps}"]
        words += [f"--step_megabytes={size}", f"--megabytes={given.megabytes}"]
        words += ["--private"] if hidden else []
        done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
        for line in done.stdout.splitlines():
            if MARK in line:
                return json.loads(line.partition(MARK)[2])
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}")


def measure(given: argparse.Namespace) -> None:
    found: dict[bool, dict[str, list[float]]] = {False: {}, True: {}}
    for turn in range(given.rounds):
        for size in (0, *(STEP_MEGABYTES if given.steps else ())):
            for hidden in (False, True):
                got = launched(given, hidden, size)
                print(json.dumps({"round": turn, "private": hidden, **got}), flush=True)
                for name, value in got.items():
                    found[hidden].setdefault(name, []).append(value)
    print(f"{'':16}{'open':>12}{'private':>12}{'ratio':>8}")
    for name, values in found[False].items():
        plain, hidden = statistics.median(values), statistics.median(found[True][name])
        ratio = hidden / plain if name in LESS_IS_BETTER else plain / hidden
        print(f"{name:16}{plain:12.1f}{hidden:12.1f}{ratio:8.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--steps", type=int, default=40, help="0: train nothing")
    parser.add_argument("--port", type=int, default=24610)
    parser.add_argument(
        "--part", choices=("all", "launch", "task"), default="all", help=argparse.SUPPRESS
    )
    parser.add_argument("--private", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--logs", help=argparse.SUPPRESS)
    parser.add_argument("--step_megabytes", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--worker_hosts", help=argparse.SUPPRESS)
    parser.add_argument("--task_index", type=int, default=0, help=argparse.SUPPRESS)
    given, _ = parser.parse_known_args()
    if given.part == "task":
        return task(given)
    if given.part == "launch":
        raise SystemExit(launch(given))
    if not given.hosts or given.hosts.count(",") != 1:
        parser.error("--hosts=A,B: which two machines?")
    return measure(given)


if __name__ == "__main__":
    main()
