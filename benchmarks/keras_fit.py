"""`moxing.keras.fit` beside Keras' own `fit`: one process, and two workers on this machine.

Compares samples a second, in turns, medians over rounds, on the two networks of UAI Train's MNIST
examples (dense, with dropout, and convolutional), Adam, random images:

- one process: openmox; keras/N: Keras 3 `fit` with steps_per_execution=N.
- two workers, convolutional: openmox; mirrored/N: tf_keras `fit` under
  `MultiWorkerMirroredStrategy`.

The first epoch, in which graphs are made, is not counted.

    python benchmarks/keras_fit.py [--rounds 3] [--scale 1.0] [--only alone|two] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from moxing.launch.plan import free_ports

ALONE = ("openmox", "keras/1", "keras/10", "keras/50")
TWO = ("openmox", "mirrored/1", "mirrored/10")
BATCH = {"alone": 64, "two": 128}
STEPS = {"dense": 400, "conv": 60}
EPOCHS = 4
LIMIT = 600


def network(keras: Any, kind: str) -> Any:
    """The network of the single-node example, or of the distributed one."""
    layers = keras.layers
    if kind == "dense":
        stack = [layers.Flatten(), layers.Dense(512, activation="relu"), layers.Dropout(0.2)]
    else:
        stack = [
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
        ]
    return keras.Sequential([layers.Input((28, 28, 1)), *stack, layers.Dense(10, "softmax")])


def compiled(keras: Any, kind: str, per_execution: int = 1) -> Any:
    model = network(keras, kind)
    model.compile(
        keras.optimizers.Adam(0.001),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
        steps_per_execution=per_execution,
    )
    return model


def data(steps: int, batch: int) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(0)
    size = steps * batch
    return chance.random((size, 28, 28, 1), np.float32), chance.integers(0, 10, size)


def run(place: str, who: str, kind: str, steps: int) -> None:
    """Trains in this process, and prints how many samples a second were trained."""
    name, _, count = who.partition("/")
    batch = BATCH[place]
    x, y = data(steps, batch)
    ends: list[float] = []
    note = {"on_epoch_end": lambda epoch, logs: ends.append(time.perf_counter())}
    if name == "openmox":
        import keras

        import moxing.keras

        noting = keras.callbacks.LambdaCallback(**note)
        moxing.keras.fit(
            compiled(keras, kind),
            (x, y),
            batch_size=batch,
            epochs=EPOCHS,
            callbacks=[noting],
            log_every=1000,
        )
    elif name == "keras":
        import keras

        noting = keras.callbacks.LambdaCallback(**note)
        model = compiled(keras, kind, int(count))
        model.fit(x, y, batch_size=batch, epochs=EPOCHS, callbacks=[noting], verbose=0)
    else:
        import tensorflow as tf
        import tf_keras

        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            model = compiled(tf_keras, kind, int(count))
        noting = tf_keras.callbacks.LambdaCallback(**note)
        dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(batch)
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = (
            tf.data.experimental.AutoShardPolicy.DATA
        )
        model.fit(dataset.with_options(options), epochs=EPOCHS, callbacks=[noting], verbose=0)
    rate = (EPOCHS - 1) * len(x) / (ends[-1] - ends[0])
    print(json.dumps({"rate": rate}), flush=True)


def measured(place: str, who: str, kind: str, steps: int) -> float:
    """Samples a second, of all processes together."""
    command = [sys.executable, __file__, "--run", place, who, kind, str(steps)]
    configs: list[dict[str, str]] = [{}]
    if place == "two":
        addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
        configs = [
            {
                "TF_CONFIG": json.dumps(
                    {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}}
                )
            }
            for i in range(2)
        ]
    processes = [
        subprocess.Popen(
            command,
            env={**os.environ, **config, "CUDA_VISIBLE_DEVICES": "-1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for config in configs
    ]
    try:
        outputs = [process.communicate(timeout=LIMIT) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for out, errors in outputs:
        if not out.strip():
            raise SystemExit(f"{who} failed: {errors[-2000:]}")
    return min(json.loads(out.strip().splitlines()[-1])["rate"] for out, _ in outputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the steps of an epoch")
    parser.add_argument("--only", choices=("alone", "two"))
    parser.add_argument("--json")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        place, who, kind, steps = options.run
        return run(place, who, kind, int(steps))
    plans = [("alone", "dense", ALONE), ("alone", "conv", ALONE), ("two", "conv", TWO)]
    results = []
    for place, kind, contestants in plans:
        if options.only not in (None, place):
            continue
        steps = max(50, int(STEPS[kind] * options.scale) // 50 * 50)
        rates: dict[str, list[float]] = {who: [] for who in contestants}
        for _ in range(options.rounds):
            for who in contestants:
                rates[who].append(measured(place, who, kind, steps))
        medians = {who: statistics.median(values) for who, values in rates.items()}
        best = max((who for who in contestants if who != "openmox"), key=lambda who: medians[who])
        ratios = [a / b for a, b in zip(rates["openmox"], rates[best], strict=True)]
        print(f"{place}, {kind}, samples a second:")
        for who, rate in medians.items():
            print(f"  {who:12} {rate:10,.0f}")
        print(f"  openmox is {statistics.median(ratios):.2f} times {best}", flush=True)
        results.append({"place": place, "model": kind, "rates": rates, "ratios": ratios})
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    return None


if __name__ == "__main__":
    main()
