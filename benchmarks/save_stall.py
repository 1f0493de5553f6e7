"""How much longer training takes for checkpoints that go to an object store.

Starts moto's server on loopback and trains a model of about 25 million float32 variables with
momentum (200 MB a checkpoint), each time in a process of its own and in turn,

- without saves,
- with saves to a local directory,
- with saves to the store.

Each saves every --interval seconds. What a save costs is what it adds to the time of all steps
between the first step and the last; the upload at the very end is told apart, for no step waits for
it. Prints the share for each pair of runs and the median. The server runs on the same machine and
takes a part of it, as no store does.

    python benchmarks/save_stall.py [--seconds N] [--interval N] [--repeats N] [--only store]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from object_store import BUCKET, server

WORKER = """
import json, sys, time
import tensorflow.compat.v1 as tf
from moxing.engine import run
from moxing.engine.job import TRAIN, Job, Loss, Model

log_dir, steps, interval = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
SIZE, LAYERS = 1580, 10

def input_fn(mode):
    return tf.random.normal([64, SIZE])

def model_fn(inputs, mode):
    value = inputs[0]
    for layer in range(LAYERS):
        weight = tf.get_variable(f"w{layer}", [SIZE, SIZE],
                                 initializer=tf.random_normal_initializer(stddev=SIZE ** -0.5))
        value = tf.tanh(tf.matmul(value, weight))
    loss = tf.reduce_mean(tf.square(value - 0.1))
    return Model(losses=(Loss(loss),), log={"loss": loss})

began = time.monotonic()
result = run.execute(Job(
    mode=TRAIN, input_fn=input_fn, model_fn=model_fn,
    optimizer_fns=[lambda: tf.train.MomentumOptimizer(1e-3, 0.9)], max_steps=steps,
    log_dir=log_dir or None, log_every=10**9,
    save_secs=interval if log_dir else None))
print(json.dumps({"steps": result.seconds, "all": time.monotonic() - began}))
"""


def train(log_dir: str, steps: int, interval: float, work: str) -> dict[str, float]:
    """Seconds of all steps, and of the whole run."""
    keys = {"ACCESS_KEY_ID": "benchmark", "SECRET_ACCESS_KEY": "benchmark"}
    environment = os.environ | keys | {"MOX_FILE_CACHE_DIR": work, "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        [sys.executable, "-c", WORKER, log_dir, str(steps), str(interval)],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=1800,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=90.0, help="of each run, about")
    parser.add_argument("--interval", type=float, default=60.0, help="seconds between saves")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("disk", "store"))
    given = parser.parse_args()
    kinds = [given.only] if given.only else ["disk", "store"]
    with tempfile.TemporaryDirectory() as work, server():
        trial = train("", 20, given.interval, work)
        steps = max(20, int(given.seconds / (trial["steps"] / 20)))
        print(f"{steps} steps a run, a save every {given.interval:g} s")
        shares: dict[str, list[float]] = {kind: [] for kind in kinds}
        for number in range(given.repeats):
            none = train("", steps, given.interval, work)
            for kind in kinds:
                path = f"{work}/disk{number}" if kind == "disk" else f"s3://{BUCKET}/{number}"
                found = train(path, steps, given.interval, work)
                shares[kind].append(found["steps"] / none["steps"] - 1.0)
                end = found["all"] - found["steps"] - (none["all"] - none["steps"])
                print(
                    f"{kind}: {found['steps']:.1f} s with saves, {none['steps']:.1f} s without:"
                    f" {shares[kind][-1]:+.1%}; start and end took {end:.1f} s more",
                    flush=True,
                )
        for kind, values in shares.items():
            print(f"{kind}: steps take {statistics.median(values):+.1%} longer with saves (median)")


if __name__ == "__main__":
    main()
