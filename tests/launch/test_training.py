"""A program of 2018 on launched tasks, one of which is killed in the middle: the job completes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
import warm

pytestmark = pytest.mark.slow
LIMIT = 150.0
STEPS = 2500
RESTART = "Starting all again"
RESTORED = r"\[worker 0\] .*Restoring parameters from \S+model\.ckpt-(\d+)\n"
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


def task(script: Path, job: str, index: int) -> int:
    """The process of a task of this script."""
    own = {str(script), f"--job_name={job}", f"--task_index={index}"}
    return next(
        int(pid)
        for pid in filter(str.isdigit, os.listdir("/proc"))
        if own.issubset(command_of(pid))
    )


def launched(
    folder: Path, victims: list[tuple[str, int]], flags: list[str], arguments: Sequence[str] = ()
) -> str:
    """What a job says of which a task is killed by SIGKILL in each of its starts but the last.

    Each is killed once two steps have been saved in that start, and a third save has begun.
    """
    script, log = folder / "train.py", folder / "launch.txt"
    script.write_text(TRAIN)
    with open(log, "wb") as output:
        process = warm.Popen(
            [sys.executable, "-m", "moxing", "launch", f"--logs={folder}/logs", *flags]
            + [str(script), f"--train_url={folder}/train", *arguments],
            env=warm.forking(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        for count, victim in enumerate(victims):
            until = time.monotonic() + LIMIT
            while log.read_text().count(RESTART) < count or len(saves(last(log.read_text()))) < 3:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.02)
            os.kill(task(script, *victim), signal.SIGKILL)
        code = process.wait(LIMIT)
    finally:
        process.terminate()
        process.wait(240)
    text = log.read_text()
    assert code == 0, text[-5000:]
    for name in (f"{job} {index}" for job, index in victims):
        assert f"mox launch: {name} failed first: killed by SIGKILL (code 137)." in text
    assert (folder / "train" / f"model.ckpt-{STEPS}.index").exists()
    return text


def last(text: str) -> str:
    """What was said in the last start of a job."""
    return text.rpartition(RESTART)[2]


def saves(text: str) -> list[int]:
    return [
        int(step) for step in re.findall(r"\[worker 0\] .*Saving checkpoints for (\d+) into", text)
    ]


def went_on(text: str, kills: int) -> None:
    """Each start went on from what the one before it had saved last."""
    parts = text.split(RESTART)
    assert len(parts) == kills + 1, text[-5000:]
    for before, after in pairwise(parts):
        (restored,) = map(int, re.findall(RESTORED, after))
        # The save that had begun may have been cut short.
        assert restored in saves(before)[-2:], text[-5000:]


def test_a_job_completes_though_a_worker_and_then_the_chief_are_killed(tmp_path: Path) -> None:
    text = launched(tmp_path, [("worker", 1), ("worker", 0)], ["--workers=2"])

    went_on(text, 2)
    accuracy = [float(number) for number in re.findall(r"accuracy: ([0-9.]+)", last(text))]
    assert accuracy[-1] > 0.9


def test_a_job_completes_though_a_parameter_server_is_killed(tmp_path: Path) -> None:
    servers = ["--variable_update=parameter_server"]
    text = launched(tmp_path, [("ps", 0)], ["--workers=1", "--ps=1"], servers)

    went_on(text, 1)
