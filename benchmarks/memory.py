"""Resident memory over 200,000 steps of softmax regression, 784x10, batch 100, through `mox.run`.

Prints it every 20,000 steps, and exits with 1 if it grows by more than 10 MB after the first
20,000.

    python benchmarks/memory.py [--steps N] [--input generator|memory]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("MOX_SILENT_MODE", "1")

import numpy as np
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

BATCH = 100
IMAGES = 6_000
EVERY = 20_000
MOST_GROWTH = 10.0  # MB


def resident() -> float:
    """Resident memory of this process in MB, from the kernel."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Watch(mox.AggregativeSessionRunHook):
    """Measures at every 20,000th step."""

    def __init__(self) -> None:
        self.measured: list[float] = []
        self._steps = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._steps += 1
        if self._steps % EVERY == 0:
            self.measured.append(resident())
            print(f"{self._steps:8,d} steps  {self.measured[-1]:8.1f} MB", flush=True)


def input_fn_of(kind: str) -> Callable[[str], Any]:
    chance = np.random.default_rng(0)
    images = chance.random((IMAGES, 784), dtype=np.float32)
    labels = np.eye(10, dtype=np.float32)[chance.integers(0, 10, IMAGES)]

    def generator() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        start = 0
        while True:
            yield images[start : start + BATCH], labels[start : start + BATCH]
            start = (start + BATCH) % IMAGES

    def input_fn(mode: str) -> Any:
        if kind == "generator":
            shapes = (tf.TensorShape([BATCH, 784]), tf.TensorShape([BATCH, 10]))
            types = (tf.float32, tf.float32)
            return tf.data.Dataset.from_generator(generator, types, shapes)
        data = tf.data.Dataset.from_tensor_slices((images, labels))
        return data.repeat().batch(BATCH, drop_remainder=True)

    return input_fn


def train(kind: str, steps: int, log_dir: str) -> list[float]:
    """The measurements of one run, with a checkpoint every 5,000 steps."""
    watch = Watch()

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        x, y = inputs
        weights = tf.get_variable("W", initializer=tf.zeros([784, 10]))
        bias = tf.get_variable("b", initializer=tf.zeros([10]))
        losses = tf.nn.softmax_cross_entropy_with_logits_v2(y, tf.matmul(x, weights) + bias)
        loss = tf.reduce_mean(losses)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[watch])

    mox.run(
        input_fn=input_fn_of(kind),
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.5),
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=BATCH,
        auto_batch=False,
        log_dir=log_dir,
        log_every_n_steps=100,
        save_model_steps=5_000,
        max_number_of_steps=steps,
    )
    return watch.measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--input", choices=["generator", "memory"], default="memory")
    arguments = parser.parse_args()
    mox.set_flag("summary_verbosity", 1)
    with tempfile.TemporaryDirectory() as log_dir:
        measured = train(arguments.input, arguments.steps, log_dir)
    growth = max(measured) - measured[0]
    print(f"grown by {growth:.1f} MB after the first {EVERY:,d} steps, at most {MOST_GROWTH:.0f}")
    sys.exit(growth > MOST_GROWTH)


if __name__ == "__main__":
    main()
