"""SIGTERM and Ctrl-C while predictions wait for their data: the program ends in its own way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = """\
import threading
import numpy as np
import tensorflow as tf

WAITS = False


def rows():
    for number in range(1000):
        if WAITS and number == 3:
            threading.Event().wait()
        yield np.full([1], number, np.float32)


def input_fn():
    return tf.data.Dataset.from_generator(rows, tf.float32, [1]).batch(1)


def model_fn(features, labels, mode):
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(features * w))
    step = tf.train.get_global_step()
    train_op = tf.train.GradientDescentOptimizer(0.0).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, {"y": features * w}, loss, train_op)


estimator = tf.estimator.Estimator(model_fn, "run")
estimator.train(input_fn, steps=1)
WAITS = True
out = open("predicted", "w")
try:
    for one in estimator.predict(input_fn):
        out.write(f"{one['y'][0]}\\n")
        print("wrote", one["y"][0], flush=True)
finally:
    print("cleaned up", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_predictions_with_what_was_written(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    (tmp_path / "predict.py").write_text(PROGRAM)
    process = warm.Popen(
        [sys.executable, "-m", "moxing", "run", "predict.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ),
    )  # fmt: skip
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(3)] == [f"wrote {n}.0\n" for n in range(3)]
    process.send_signal(number)
    out, err = process.communicate(timeout=240)

    assert process.returncode == code, err
    assert out == "cleaned up\n"
    # It was not flushed by the program.
    assert (tmp_path / "predicted").read_text().splitlines() == ["0.0", "1.0", "2.0"]
