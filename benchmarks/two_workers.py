"""Synchronous workers on this machine, two or more, beside TensorFlow's own ways to have them.

Compares, in turns, samples a second of all workers together, batch 64 each, Momentum, on networks
of about 0.1, 1.3 and 10 million parameters:

- openmox: `mox.run`, gradients summed by collectives,
- alone: openmox in one process, which sends nothing (the bound for one core each),
- sync_replicas: `SyncReplicasOptimizer` and `MonitoredTrainingSession`, one parameter server,
- mirrored: tf_keras `fit` under `MultiWorkerMirroredStrategy`.

Bytes are those of the loopback interface during the steps, beside the least that an all-reduce
needs: 2 (n - 1) / n of the parameters, sent by each of n workers.

    python benchmarks/two_workers.py [--sizes 0.1,1.3,10] [--seconds 8] [--rounds 3] [--workers 2]
                                     [--json FILE]

What it writes to FILE is what `scaling_model.py` fits its model to.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import numpy as np

BATCH = 64
WARM = 20
HIDDEN = {"0.1": [128], "1.3": [1024, 512], "10": [2048, 2048, 2048]}
CONTESTANTS = ("openmox", "alone", "sync_replicas", "mirrored")


def data() -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(0)
    return chance.random((6400, 784), np.float32), chance.integers(0, 10, 6400)


def loopback_bytes() -> int:
    """Bytes that this machine has sent to itself."""
    line = next(li for li in Path("/proc/net/dev").read_text().splitlines() if "lo:" in li)
    return int(line.split()[1])


class Clock:
    """Steps and bytes from step WARM on, for a number of seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self.steps = seconds, 0
        self.started = self.ended = 0.0

    def tick(self) -> bool:
        """Counts a step; whether it was the last."""
        self.steps += 1
        now = time.perf_counter()
        if self.steps == WARM:
            self.started, self._bytes = now, loopback_bytes()
        if self.steps > WARM and now - self.started >= self._seconds and not self.ended:
            self.ended, self._last = now, self.steps
            self.sent = loopback_bytes() - self._bytes
        return self.ended > 0

    def report(self, steps: int | None = None) -> None:
        """Prints the rate; `steps` where calls were not what counts."""
        steps = steps or self._last - WARM
        rate = steps / (self.ended - self.started)
        print(json.dumps({"steps_per_second": rate, "bytes": self.sent / steps}), flush=True)


def layers(tf: Any, x: Any, hidden: list[int]) -> Any:
    for units in hidden:
        x = tf.layers.dense(x, units, activation=tf.nn.relu)
    return tf.layers.dense(x, 10)


def openmox(size: str, seconds: float, flags: list[str]) -> None:
    import tensorflow.compat.v1 as tf

    import moxing.tensorflow as mox
    from moxing import flags as table

    table.consume(flags)
    clock = Clock(seconds)

    class Stop(mox.AggregativeSessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            if clock.tick():
                run_context.request_stop()

    def input_fn(mode: str) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices(data()).repeat().batch(BATCH)
        return tf.data.make_one_shot_iterator(dataset).get_next()

    def model_fn(inputs: Any, mode: str) -> Any:
        loss = tf.losses.sparse_softmax_cross_entropy(
            inputs[1], layers(tf, inputs[0], HIDDEN[size])
        )
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[Stop()])

    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("momentum", 0.01, momentum=0.9),
        run_mode=mox.ModeKeys.TRAIN,
        log_every_n_steps=1000,
        max_number_of_steps=10**9,
    )
    clock.report()


def sync_replicas(
    size: str, seconds: float, job: str, index: int, cluster: dict[str, list[str]]
) -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.enable_resource_variables()
    server = tf.train.Server(cluster, job, index)
    if job == "ps":
        server.join()
    clock, chief, begun = Clock(seconds), index == 0, 0
    place = tf.train.replica_device_setter(
        cluster=cluster, worker_device=f"/job:worker/task:{index}"
    )
    with tf.device(place):
        dataset = tf.data.Dataset.from_tensor_slices(data()).repeat().batch(BATCH)
        x, y = tf.data.make_one_shot_iterator(dataset).get_next()
        loss = tf.losses.sparse_softmax_cross_entropy(y, layers(tf, x, HIDDEN[size]))
        inner = tf.train.MomentumOptimizer(0.01, 0.9)
        workers = len(cluster["worker"])
        optimizer = tf.train.SyncReplicasOptimizer(inner, workers, workers)
        global_step = tf.train.get_or_create_global_step()
        step = optimizer.minimize(loss, global_step)
    hook = optimizer.make_session_run_hook(chief)
    with tf.train.MonitoredTrainingSession(server.target, chief, hooks=[hook]) as session:
        while not clock.tick() or not chief:  # The chief would wait for a worker that left.
            session.run(step)
            if clock.steps == WARM - 1:
                begun = session.run(global_step)
        # Updates count: a worker may give both gradients of one, the other none.
        clock.report(int(session.run(global_step)) - int(begun))
        os._exit(0)


def mirrored(size: str, seconds: float, chief: bool, workers: int) -> None:
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    clock = Clock(seconds)

    class Stop(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if clock.tick() and chief:
                clock.report()
                os._exit(0)

    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(units, activation="relu") for units in HIDDEN[size]]
            + [tf.keras.layers.Dense(10)]
        )
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(tf.keras.optimizers.SGD(0.01, momentum=0.9), loss)
    dataset = tf.data.Dataset.from_tensor_slices(data()).repeat().batch(workers * BATCH)
    model.fit(dataset, epochs=1, steps_per_epoch=10**9, verbose=0, callbacks=[Stop()])


def start(name: str, size: str, seconds: float, workers: int) -> list[subprocess.Popen[str]]:
    """The processes of one contestant; the first is its chief."""
    sockets = [socket.socket() for _ in range(workers + 1)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    hosts = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    tasks = [("worker", number) for number in range(workers)]
    if name == "alone":
        tasks = tasks[:1]
    if name == "sync_replicas":
        tasks.append(("ps", 0))
    processes = []
    for job, index in tasks:
        own = {"job": job, "index": index, "hosts": hosts}
        command = [sys.executable, __file__, "--play", name, "--size", size]
        command += ["--own", json.dumps(own), "--seconds", str(seconds)]
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        processes.append(subprocess.Popen(command, **pipe))
    return processes


def play(arguments: argparse.Namespace) -> None:
    """One process of a contestant."""
    own = json.loads(arguments.own)
    job, index, hosts = own["job"], own["index"], own["hosts"][:-1]
    size, seconds = arguments.size, arguments.seconds
    if arguments.play == "sync_replicas":
        cluster = {"worker": hosts, "ps": own["hosts"][-1:]}
        sync_replicas(size, seconds, job, index, cluster)
    elif arguments.play == "mirrored":
        task = {"type": job, "index": index}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": hosts}, "task": task})
        mirrored(size, seconds, index == 0, len(hosts))
    else:
        flags = [
            f"--worker_hosts={','.join(hosts)}",
            "--job_name=worker",
            f"--task_index={index}",
        ]
        openmox(size, seconds, flags if arguments.play == "openmox" else [])


def measure(name: str, size: str, seconds: float, workers: int) -> dict[str, float]:
    return result(start(name, size, seconds, workers), seconds, f"{name} at {size}")


def result(processes: list[subprocess.Popen[str]], seconds: float, what: str) -> dict[str, float]:
    """What the first of the processes reports; all of them have ended then."""
    try:
        lines, _ = processes[0].communicate(timeout=150 + seconds)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    found = [line for line in lines.splitlines() if line.startswith("{")]
    if not found:
        raise SystemExit(f"{what} gave no result")
    return json.loads(found[-1])


def compare(size: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Medians of every contestant at one size, printed and returned."""
    names, workers = arguments.contestants.split(","), arguments.workers
    widths = [784, *HIDDEN[size], 10]
    parameters = sum(a * b + b for a, b in zip(widths, widths[1:], strict=False))
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number in range(arguments.rounds):
        for name in names if number % 2 == 0 else reversed(names):
            results[name].append(measure(name, size, arguments.seconds, workers))
    ours = statistics.median(r["steps_per_second"] for r in results[names[0]])
    print(f"{workers} workers, {parameters / 1e6:.2f}M parameters, load {os.getloadavg()[0]:.1f}")
    rows = []
    least = 2 * (workers - 1) * 4 * parameters  # 2 (n - 1) / n of them from each of n workers.
    for name in names:
        rate = statistics.median(r["steps_per_second"] for r in results[name])
        sent = statistics.median(r["bytes"] for r in results[name])
        print(
            f"  {name:14} {rate:8.1f} steps/s  {names[0]} is {ours / rate:5.2f}x"
            f"  wire {sent / least:5.2f} of the least",
            flush=True,
        )
        rows.append({"name": name, "workers": 1 if name == "alone" else workers, "rate": rate})
    return [{**row, "parameters": parameters, "sent": least / workers} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="0.1,1.3,10")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--contestants", default=",".join(CONTESTANTS))
    parser.add_argument("--json", help="a file for the medians")
    for hidden in ("--play", "--own", "--size"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.play:
        play(arguments)
        return
    rows = [row for size in arguments.sizes.split(",") for row in compare(size, arguments)]
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
