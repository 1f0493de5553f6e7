"""Killed at any moment, a run with data and `log_dir` in a store goes on from its last upload."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from moxing.framework import file

sys.path.insert(0, str(Path(__file__).parents[1]))
from zygote import Child, Zygote  # noqa: E402

# Digits from the store, a weight per pixel and class, checkpoints to the store.
PROGRAM = """
import os, sys
os.environ.update(S3_ENDPOINT=sys.argv[1], ACCESS_KEY_ID=sys.argv[2],
                  SECRET_ACCESS_KEY=sys.argv[3], MOX_FILE_CACHE_DIR=sys.argv[4])
bucket, mode, last = sys.argv[5], sys.argv[6], int(sys.argv[7])
import time
import moxing.tensorflow as mox
import tensorflow.compat.v1 as tf
from moxing.legacy.data import mnist

digits = mnist.read_data_sets(f"{bucket}/mnist", one_hot=True, validation_size=0, seed=1)

def input_fn(run_mode):
    part = digits.train if run_mode == mox.ModeKeys.TRAIN else digits.test
    def batches():
        rounds = 10 ** 9 if run_mode == mox.ModeKeys.TRAIN else part.num_examples // 10
        for _ in range(rounds):
            if run_mode == mox.ModeKeys.TRAIN:
                time.sleep(0.01)
            yield part.next_batch(10)
    shapes = (tf.TensorShape([None, 784]), tf.TensorShape([None, 10]))
    data = tf.data.Dataset.from_generator(batches, (tf.float32, tf.int64), shapes)
    return tf.data.make_one_shot_iterator(data).get_next()

def model_fn(inputs, run_mode):
    images, labels = inputs
    logits = tf.matmul(images, tf.get_variable("w", [784, 10], initializer=tf.zeros_initializer()))
    loss = tf.losses.softmax_cross_entropy(labels, logits)
    hit = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    accuracy = tf.reduce_mean(tf.cast(hit, tf.float32))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss, "accuracy": accuracy})

mox.run(input_fn=input_fn, model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.2), run_mode=mode,
        log_dir=f"{bucket}/out", save_model_steps=20, log_every_n_steps=20,
        max_number_of_steps=last)
"""


class Programs:
    """Runs `PROGRAM` against one bucket."""

    def __init__(
        self, zygote: Zygote, server: str, keys: tuple[str, str], bucket: str, tmp_path: Path
    ) -> None:
        self._zygote, self._given, self._tmp_path = zygote, (server, *keys), tmp_path
        self._bucket, self._count = bucket, 0

    def start(self, mode: str, last: int) -> Child:
        self._count += 1
        output = self._tmp_path / f"output{self._count}"
        cache = self._tmp_path / "local"
        return self._zygote.start(PROGRAM, output, *self._given, cache, self._bucket, mode, last)


@pytest.fixture
def programs(
    zygote: Zygote, s3: str, keys: tuple[str, str], bucket: str, tmp_path: Path, data_dir: Path
) -> Programs:
    file.copy_parallel(data_dir / "mnist", f"{bucket}/mnist", is_processing=False)
    return Programs(zygote, s3, keys, bucket, tmp_path)


def uploaded(bucket: str) -> int:
    """The step of the newest commit in the store; -1 where there is none."""
    names = file.list_directory(f"{bucket}/out") if file.exists(f"{bucket}/out") else []
    found = (re.fullmatch(r"model\.ckpt-(\d+)\.manifest\.json", name) for name in names)
    return max((int(match[1]) for match in found if match), default=-1)


def wait_for_upload(bucket: str, step: int, child: Child) -> None:
    until = time.monotonic() + 120
    while uploaded(bucket) < step:
        assert time.monotonic() < until, child.text
        time.sleep(0.05)


@pytest.mark.slow
def test_killed_resumed_stopped_and_evaluated(
    programs: Programs, bucket: str, cache_dir: Path, real_data: bool
) -> None:
    step = 0
    for kill in range(3):
        child = programs.start("TRAIN", 10**9)
        wait_for_upload(bucket, step + 20, child)
        time.sleep(0.3 * kill)
        child.send(signal.SIGKILL)
        assert child.code() == -signal.SIGKILL
        if step:
            restored = re.search(
                rf"Restoring parameters from {bucket}/out/model\.ckpt-(\d+)", child.text
            )
            assert restored is not None
            assert int(restored[1]) >= step  # The server may have been at the next one, too.
            assert f"Taking over {bucket}/out from process " in child.text
        step = uploaded(bucket)

    child = programs.start("TRAIN", 10**9)
    wait_for_upload(bucket, step + 20, child)
    child.send(signal.SIGTERM)
    assert child.code() == 143, child.text
    stopped = re.search(r"Stopped by SIGTERM at step (\d+), which is saved: (\S+)\. ", child.text)
    assert stopped is not None, child.text
    assert stopped[2] == f"{bucket}/out/model.ckpt-{stopped[1]}"
    assert uploaded(bucket) == int(stopped[1])

    child = programs.start("TRAIN", int(stopped[1]) + 30)
    assert child.code() == 0, child.text
    evaluated = programs.start("EVAL", 10**6)
    assert evaluated.code() == 0, evaluated.text
    assert f"at global step {int(stopped[1]) + 30} in " in evaluated.text
    accuracy = float(re.findall(r"accuracy: ([\d.]+)", evaluated.text)[-1])
    assert accuracy > (0.75 if real_data else 0.2)
    assert not os.listdir(cache_dir)  # What the killed runs left is gone, too.


def test_local_space_of_dead_runs_is_freed(cache_dir: Path) -> None:
    """What another run of this machine left is removed, what a living one uses is not."""
    from moxing.engine.remote.scratch import room
    from moxing.framework.owners import machine, started

    dead = cache_dir / f".mox-room-{os.getpid()}-1-{machine()}.x"
    elsewhere = cache_dir / f".mox-room-{os.getpid()}-1-0123456789abcdef.x"
    own = cache_dir / f".mox-room-{os.getpid()}-{started(os.getpid())}-{machine()}.x"
    for path in (dead, elsewhere, own):
        path.mkdir()
    with room(str(cache_dir)) as made:
        assert sorted(os.listdir(cache_dir)) == sorted(
            [elsewhere.name, own.name, os.path.basename(made)]
        )
    assert sorted(os.listdir(cache_dir)) == sorted([elsewhere.name, own.name])
