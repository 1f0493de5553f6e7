"""The step loop beside its peers: softmax regression, 784x10, batch 100, on the CPU.

Compares, in one process and alternating, microseconds a step of

- bare: `Session.make_callable` over the same graph and the executor that openmox chooses,
- default: the same loop on TensorFlow's default executor,
- openmox: `mox.run`,
- monitored: `MonitoredTrainingSession` with its default hooks,
- keras: Keras 3 `fit`, in a process of its own, for it needs eager mode.

    python benchmarks/step_loop.py [--steps N] [--repeats N] [--input generator|memory]
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

BATCH = 100
IMAGES = 6_000


def data() -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(0)
    images = chance.random((IMAGES, 784), dtype=np.float32)
    labels = np.eye(10, dtype=np.float32)[chance.integers(0, 10, IMAGES)]
    return images, labels


def batches_of(images: np.ndarray, labels: np.ndarray) -> Callable[[], Iterator[Any]]:
    """An endless generator of batches, as programs write it."""

    def generator() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        start = 0
        while True:
            yield images[start : start + BATCH], labels[start : start + BATCH]
            start = (start + BATCH) % IMAGES

    return generator


def keras(steps: int, kind: str) -> float:
    """Seconds a step of Keras 3 `fit` on the same kind of input, its first epoch left out."""
    os.environ["TF_USE_LEGACY_KERAS"] = "0"
    import keras as k
    import tensorflow as tf

    images, labels = data()
    if kind == "generator":
        types = (tf.TensorSpec([None, 784], tf.float32), tf.TensorSpec([None, 10], tf.float32))
        pairs = tf.data.Dataset.from_generator(batches_of(images, labels), output_signature=types)
    else:
        whole = (images.reshape(-1, BATCH, 784), labels.reshape(-1, BATCH, 10))
        pairs = tf.data.Dataset.from_tensor_slices(whole).repeat()
    pairs = pairs.prefetch(2)
    model = k.Sequential([k.Input([784]), k.layers.Dense(10)])
    loss = k.losses.CategoricalCrossentropy(from_logits=True)
    model.compile(k.optimizers.SGD(0.5), loss)
    model.fit(pairs, steps_per_epoch=50, verbose=0)
    started = time.perf_counter()
    model.fit(pairs, steps_per_epoch=steps, verbose=0)
    return (time.perf_counter() - started) / steps


def input_fn_of(kind: str, arrays: tuple[np.ndarray, np.ndarray]) -> Callable[[str], Any]:
    import tensorflow.compat.v1 as tf

    images, labels = arrays
    generator = batches_of(images, labels)

    def input_fn(mode: str) -> Any:
        if kind == "generator":
            shapes = (tf.TensorShape([None, 784]), tf.TensorShape([None, 10]))
            types = (tf.float32, tf.float32)
            pairs = tf.data.Dataset.from_generator(generator, types, shapes)
            return tf.data.make_one_shot_iterator(pairs).get_next()
        batches = tf.data.Dataset.from_tensor_slices(
            (images.reshape(-1, BATCH, 784), labels.reshape(-1, BATCH, 10))
        )
        return tf.data.make_one_shot_iterator(batches.repeat()).get_next()

    return input_fn


def model(x: Any, y: Any) -> Any:
    import tensorflow.compat.v1 as tf

    weights = tf.get_variable("W", initializer=tf.zeros([784, 10]))
    bias = tf.get_variable("b", initializer=tf.zeros([10]))
    losses = tf.nn.softmax_cross_entropy_with_logits_v2(y, tf.matmul(x, weights) + bias)
    return tf.reduce_mean(losses)


class Stopwatch(logging.Handler):
    """Times a run from its second log line to its last.

    Before the second one TensorFlow prepares both kinds of step, with and without a look at the
    loss; the peers' first steps are left out as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self.marks: list[tuple[int, float]] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message.startswith("step: "):
            self.marks.append((int(message[6:].split("(")[0]), time.perf_counter()))

    def seconds_a_step(self) -> float:
        (first, started), (last, ended) = self.marks[1], self.marks[-1]
        return (ended - started) / (last - first)


def openmox(input_fn: Any, steps: int) -> float:
    """Seconds a step of `mox.run`, between its second and last log line."""
    import moxing.tensorflow as mox

    watch = Stopwatch()
    logger = logging.getLogger("tensorflow")
    logger.handlers, logger.propagate = [watch], False

    def model_fn(inputs: Any, mode: str) -> Any:
        loss = model(*inputs)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.5),
        run_mode=mox.ModeKeys.TRAIN,
        log_every_n_steps=100,
        max_number_of_steps=steps,
    )
    return watch.seconds_a_step()


def graph_of(input_fn: Any, lifted: bool) -> tuple[Any, Any, Any, list[Any]]:
    """The graph of a plain program: input, model, optimizer."""
    import tensorflow.compat.v1 as tf

    graph = tf.Graph()
    with graph.as_default():
        initializers = []
        with tf.device("/cpu:0"):
            if lifted:
                from moxing.engine.data import inputs

                made = inputs.build(input_fn, "TRAIN", None, False)
                x, y = made.structure
                initializers = list(made.initializers)
            else:
                x, y = input_fn("TRAIN")
        loss = model(x, y)
        step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, step)
    return graph, train, loss, initializers


def bare(input_fn: Any, steps: int, executor: str, lifted: bool) -> float:
    """Seconds a step of a `make_callable` loop, with a look at the loss every 100 steps."""
    import tensorflow.compat.v1 as tf

    graph, train, loss, initializers = graph_of(input_fn, lifted)
    config = tf.ConfigProto()
    config.experimental.executor_type = executor
    with graph.as_default():
        initialize = tf.global_variables_initializer()
    with tf.Session(graph=graph, config=config) as session:
        session.run(initialize)
        session.run(initializers)
        step = session.make_callable(train)
        look = session.make_callable({"train": train, "loss": loss})
        look()
        step()
        started = time.perf_counter()
        for number in range(steps):
            if number % 100 == 0:
                look()
            else:
                step()
        return (time.perf_counter() - started) / steps


def monitored(input_fn: Any, steps: int) -> float:
    """Seconds a step of a MonitoredTrainingSession with a directory and its default hooks."""
    import tensorflow.compat.v1 as tf

    graph, train, loss, _ = graph_of(input_fn, lifted=False)
    del loss
    with graph.as_default(), tempfile.TemporaryDirectory() as folder:
        opened = tf.train.MonitoredTrainingSession(checkpoint_dir=folder)
        with opened as session:
            session.run(train)
            started = time.perf_counter()
            for _ in range(steps):
                session.run(train)
            return (time.perf_counter() - started) / steps


def measure(kind: str, steps: int, repeats: int) -> dict[str, float]:
    import tensorflow.compat.v1 as tf

    from moxing.engine.graph.tf_executor import SINGLE_THREADED

    input_fn = input_fn_of(kind, data())
    tf.train.get_or_create_global_step  # noqa: B018 - loads TensorFlow before the first measurement
    contestants = {
        "bare": lambda: bare(input_fn, steps, SINGLE_THREADED, lifted=True),
        "default": lambda: bare(input_fn, steps, "", lifted=False),
        "openmox": lambda: openmox(input_fn, steps),
        "monitored": lambda: monitored(input_fn, steps),
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, run in contestants.items():
            times[name].append(run())
    found = {name: statistics.median(values) for name, values in times.items()}
    own = [sys.executable, __file__, "--keras", "--steps", str(steps), "--input", kind]
    found["keras"] = statistics.median(
        float(subprocess.run(own, capture_output=True, text=True, check=True).stdout.split()[-1])
        for _ in range(min(repeats, 3))
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--input", choices=["generator", "memory"])
    parser.add_argument("--keras", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.keras:
        print(keras(arguments.steps, arguments.input))
        return
    for kind in [arguments.input] if arguments.input else ["memory", "generator"]:
        found = measure(kind, arguments.steps, arguments.repeats)
        print(f"input: {kind}, {arguments.steps} steps, median of {arguments.repeats}")
        for name, seconds in found.items():
            ratio = seconds / found["openmox"]
            print(f"  {name:10s} {seconds * 1e6:8.1f} us/step   {ratio:5.2f} x openmox")


if __name__ == "__main__":
    main()
