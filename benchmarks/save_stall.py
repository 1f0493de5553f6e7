"""How much training time a checkpoint costs that goes to an object store.

Starts moto's server on loopback and trains a model of float32 variables with momentum, about 50
million of them by default (400 MB a checkpoint), with a save every --interval seconds, to a local
directory and to the store, each in a process of its own. The run's own pace is the measure, for a
machine's speed changes from minute to minute: steps done in the half interval that begins with a
save, which holds the save and its upload, beside those in the half before the next save, where
nothing is saved.

Prints the seconds that a save costs (median), and which share of the time that is where a save is
made every 60 seconds, the default of mox.run; and how much later than another step the step after a
save ends, which is how long training stands still. The rest of the cost is what the write takes of
the processors while training goes on. The server runs on the same machine and takes a part of its
processors, as no store does.

    python benchmarks/save_stall.py [--interval N] [--saves N] [--megabytes N] [--only disk|store]
"""

from __future__ import annotations

import argparse
import itertools
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
import dataclasses, json, logging, sys, time
import tensorflow.compat.v1 as tf
from moxing.engine.job.job import (
    TRAIN, Data, Job, Logging, Loss, Model, Optimization, Saving)
from moxing.engine.run import execution

log_dir, saves, interval = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
SIZE, LAYERS = 1580, int(sys.argv[4])

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


class Times(tf.train.SessionRunHook):
    ends = []
    def after_run(self, context, values):
        self.ends.append(time.monotonic())

class Saves(logging.Filter):
    begins = []
    def filter(self, record):
        if record.getMessage().startswith("Saving checkpoints"):
            self.begins.append(time.monotonic())
        return True

logging.getLogger("tensorflow").setLevel("INFO")
logging.getLogger("tensorflow").addFilter(Saves())

def stop_after(count):
    class Stop(tf.train.SessionRunHook):
        def after_run(self, context, values):
            if len(Saves.begins) > count:
                context.request_stop()
    return Stop()

def with_hooks(inputs, mode):
    return dataclasses.replace(model_fn(inputs, mode), hooks=(Times(), stop_after(saves)))

execution.execute(Job(
    mode=TRAIN, data=Data(input_fn), model_fn=with_hooks, max_steps=10**9,
    optimization=Optimization([lambda: tf.train.MomentumOptimizer(1e-3, 0.9)]),
    log_dir=log_dir, logging=Logging(10**9), saving=Saving(every_secs=interval)))
print(json.dumps({"steps": Times.ends, "saves": Saves.begins}))
"""

LAYER_MEGABYTES = 20  # 1,580 x 1,580 values of 4 bytes, and as many of the momentum.


def train(
    log_dir: str, saves: int, interval: float, layers: int, work: str
) -> dict[str, list[float]]:
    """Moments at which steps ended and saves began."""
    keys = {"ACCESS_KEY_ID": "benchmark", "SECRET_ACCESS_KEY": "benchmark"}
    environment = os.environ | keys | {"MOX_FILE_CACHE_DIR": work, "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        [sys.executable, "-c", WORKER, log_dir, str(saves), str(interval), str(layers)],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=1800,
    )
    return json.loads(done.stdout.splitlines()[-1])


def costs(moments: dict[str, list[float]]) -> list[float]:
    """Seconds lost by each save but the first, which is made before any step, and the last."""
    steps, saves = moments["steps"], moments["saves"]
    found = []
    for begin, after in itertools.pairwise(saves[1:-1]):  # The last save is that of the end.
        half = (after - begin) / 2
        with_save = sum(begin <= step < begin + half for step in steps)
        without = sum(begin + half <= step < after for step in steps)
        found.append(half * (1 - with_save / without))
    return found


def pauses(moments: dict[str, list[float]]) -> list[float]:
    """Seconds by which the first step after each save but the first takes longer than others."""
    steps, saves = moments["steps"], moments["saves"]
    usual = statistics.median(after - before for before, after in itertools.pairwise(steps))
    return [next(step for step in steps if step > save) - save - usual for save in saves[1:-1]]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--interval", type=float, default=30.0, help="seconds between saves")
    parser.add_argument("--saves", type=int, default=8, help="how many to measure")
    parser.add_argument("--megabytes", type=int, default=400, help="size of a checkpoint")
    parser.add_argument("--only", choices=("disk", "store"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work, server():
        for kind in [given.only] if given.only else ["disk", "store"]:
            path = f"{work}/disk" if kind == "disk" else f"s3://{BUCKET}/run"
            layers = max(1, given.megabytes // LAYER_MEGABYTES)
            moments = train(path, given.saves + 1, given.interval, layers, work)
            found, still = costs(moments), statistics.median(pauses(moments))
            each = ", ".join(f"{cost:.1f}" for cost in found)
            cost = statistics.median(found)
            print(
                f"{kind}: a save costs {cost:.2f} s (each: {each}); one a minute: {cost / 60:.1%};"
                f" training stands still for {still:.3f} s: {still / 60:.2%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
