"""A program of 2018 on two launched workers: one is killed in the middle, the job completes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
LIMIT = 150.0
STEPS = 4000
TRAIN = """
import tensorflow as tf
import moxing.tensorflow as mox
import numpy as np
from sklearn.datasets import load_digits

tf.flags.DEFINE_string('train_url', None, 'logs')
flags = tf.flags.FLAGS
slim = tf.contrib.slim
digits = load_digits()


def input_fn(run_mode, **kwargs):
  ds = tf.data.Dataset.from_tensor_slices((digits.data.astype('float32') / 16.0, digits.target))
  ds = ds.shuffle(2000).repeat().batch(50)
  return ds.make_one_shot_iterator().get_next()


def model_fn(inputs, run_mode, **kwargs):
  images, labels = inputs
  logits = slim.fully_connected(images, 10, activation_fn=None, scope='logits')
  loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
  hit = tf.equal(tf.argmax(logits, 1), labels)
  accuracy = tf.reduce_mean(tf.cast(hit, tf.float32))
  return mox.ModelSpec(loss=loss, log_info={'loss': loss, 'accuracy': accuracy})


mox.run(input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.5),
        run_mode=mox.ModeKeys.TRAIN,
        log_dir=flags.train_url,
        max_number_of_steps=STEPS,
        log_every_n_steps=100,
        save_model_steps=100)
""".replace("STEPS", str(STEPS))


def command_of(pid: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def worker(script: Path, index: int) -> int:
    """The process of a worker of this script."""
    return next(
        int(pid)
        for pid in filter(str.isdigit, os.listdir("/proc"))
        if str(script) in (words := command_of(pid)) and f"--task_index={index}" in words
    )


def test_a_job_completes_though_a_worker_is_killed(tmp_path: Path) -> None:
    script, log = tmp_path / "train.py", tmp_path / "launch.txt"
    script.write_text(TRAIN)
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "moxing", "launch", "--workers=2", f"--logs={tmp_path}/logs"]
            + [str(script), f"--train_url={tmp_path}/train"],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until = time.monotonic() + LIMIT
        while not re.search(r"step: [2-9]00\b", log.read_text()):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.02)
        os.kill(worker(script, 1), signal.SIGKILL)
        code = process.wait(LIMIT)
    finally:
        process.terminate()
        process.wait(60)
    text = log.read_text()
    assert code == 0, text[-5000:]
    assert "mox launch: worker 1 failed first: killed by SIGKILL (code 137)." in text
    assert text.count("mox launch: Starting all again") == 1
    after = text.partition("Starting all again")[2]
    steps = [int(step) for step in re.findall(r"\[worker 0\] .*?step: (\d+)", after)]
    # It went on from a saved step, and not from the beginning.
    assert 100 < steps[0] <= STEPS, text[-5000:]
    assert (tmp_path / "train" / f"model.ckpt-{STEPS}.index").exists()
    accuracy = [float(number) for number in re.findall(r"accuracy: ([0-9.]+)", after)]
    assert accuracy[-1] > 0.9
