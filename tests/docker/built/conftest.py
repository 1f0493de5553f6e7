"""The images of both Dockerfiles, as buildah builds them on the base of tools/image_base.py."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BUILDAH = shlex.split(os.environ.get("MOX_BUILDAH", ""))
collect_ignore_glob = [] if BUILDAH else ["test_*.py"]
SECONDS = 900  # For an image, into which TensorFlow is downloaded.

# A program of TensorFlow 1.x, and one of mox.run, both started as a training platform does.
OLD = """
import sys
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None, 1])
w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
rows = np.random.RandomState(1).rand(50, 2)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(300):
        session.run(train, {x: rows, y: rows.dot([[2.0], [3.0]])})
    saved = tf.train.Saver().save(session, "/data/output/model.ckpt")
    print("weights", session.run(w).round(2).ravel().tolist(), saved)
"""
NEW = """
import moxing.tensorflow as mox
import tensorflow.compat.v1 as tf


def input_fn(mode):
    x = tf.random_uniform([1])
    return x, 3 * x + 2


def model_fn(inputs, mode):
    x, y = inputs
    loss = tf.losses.mean_squared_error(y, tf.layers.dense(x, 1))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})


mox.run(input_fn=input_fn, model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.5),
        run_mode=mox.ModeKeys.TRAIN, batch_size=32,
        log_dir="/data/output/line", max_number_of_steps=100)
"""


class Container:
    """A container of the image of a program."""

    def __init__(self, name: str) -> None:
        self._name = name

    def run(self, *command: str, user: str = "nobody") -> str:
        """The output of a command in the container; its exit code has to be 0."""
        words = ["run", "--isolation=chroot", f"--user={user}", self._name, "--", *command]
        return buildah(*words, seconds=300)


def buildah(*words: str, seconds: float) -> str:
    done = subprocess.run(
        [*BUILDAH, *words], capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def container(tmp_path_factory: pytest.TempPathFactory) -> Container:
    program = tmp_path_factory.mktemp("program")
    (program / "old.py").write_text(OLD)
    (program / "new.py").write_text(NEW)
    for name, base, folder in (("openmox", "base", ROOT), ("program", "openmox", program)):
        file = ROOT / "docker" / f"{name}.Dockerfile"
        options = ["--isolation=chroot", f"--build-arg=BASE=localhost/{base}", f"--tag={name}"]
        ignored = file.with_name(f"{file.name}.dockerignore")
        options += [f"--ignorefile={ignored}"] if ignored.exists() else []
        buildah("build", *options, f"--file={file}", str(folder), seconds=SECONDS)
    made = Container(buildah("from", "localhost/program", seconds=60).split()[-1])
    # The volume of results, as a platform mounts it for the user that it runs programs as.
    made.run("install", "-d", "-o", "nobody", "/data/output", user="root")
    return made
