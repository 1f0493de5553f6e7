"""Real programs of UAI Train under `mox uai train`: on one node, on several, and after a death."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import warm

EXAMPLE = Path(__file__).parents[2] / "examples" / "uai"
LIMIT = 400.0

# Two workers with a model_fn; the chief evaluates between steps, for which the other one waits.
MODEL_FN = """
import os
import numpy as np
import tensorflow as tf
from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_string('output_dir', '/data/output', '')
flags.DEFINE_string('data_dir', '/data/data', '')
flags.DEFINE_string('work_dir', '/data', '')
flags.DEFINE_integer('num_gpus', 1, '')

X = np.random.RandomState(0).normal(size=(400, 5)).astype('float32')
Y = (X.sum(1) > 0).astype('int64')


def read(batch, repeat):
  def input_fn():
    data = tf.data.Dataset.from_tensor_slices(({'x': X}, Y))
    return (data.repeat() if repeat else data).batch(batch)
  return input_fn


def model_fn(features, labels, mode):
  w = tf.get_variable('w', [5, 2], initializer=tf.zeros_initializer())
  logits = tf.matmul(features['x'], w)
  loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
  metrics = {'accuracy': tf.metrics.accuracy(labels, tf.argmax(logits, 1))}
  train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss, tf.train.get_global_step())
  return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def main(_):
  config = tf.estimator.RunConfig(
      save_checkpoints_steps=4,
      train_distribute=tf.distribute.experimental.MultiWorkerMirroredStrategy())
  estimator = tf.estimator.Estimator(model_fn, FLAGS.output_dir, config)
  result = tf.estimator.train_and_evaluate(
      estimator,
      tf.estimator.TrainSpec(read(200, True), max_steps=12),
      tf.estimator.EvalSpec(read(400, False), throttle_secs=0))
  print('result', config.task_type, result[0] and result[0]['global_step'])
  class Listener(tf.train.CheckpointSaverListener):
    def after_save(self, session, step):
      print('inside', estimator.evaluate(read(400, False))['global_step'])

  estimator.train(read(200, True), steps=3, saving_listeners=[Listener()])
  print('again', estimator.evaluate(read(400, False))['global_step'])


app.run(main)
"""


def folders(tmp_path: Path, data: Path, code: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "moxing", "uai", "train", f"--data={data}", f"--code={code}"),
        *(f"--output={tmp_path}/out", f"--logs={tmp_path}/logs"),
    ]


@contextlib.contextmanager
def started(command: list[str]) -> Iterator[warm.Popen]:
    job = warm.Popen(
        command,
        env=warm.forking(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield job
    finally:
        job.kill()
        job.wait()


def output(job: warm.Popen) -> str:
    text, _ = job.communicate(timeout=LIMIT)
    assert job.returncode == 0, text[-4000:]
    return text


def accuracy(text: str) -> float:
    found = re.search(r"\[master 0\] accuracy ([0-9.]+) after step (\d+)", text)
    assert found is not None, text[-4000:]
    return float(found[1])


@pytest.mark.slow
def test_the_single_node_program(tmp_path: Path, data_dir: Path, real_data: bool) -> None:
    program = f"/data/mnist.py --epochs={1 if real_data else 2}"
    with started([*folders(tmp_path, data_dir / "mnist", EXAMPLE), program]) as job:
        text = output(job)

    found = re.search(
        r"\[master 0\] accuracy ([0-9.]+) of (.*) which predicts the same: True", text
    )
    assert found is not None, text[-4000:]
    assert float(found[1]) >= (0.93 if real_data else 0.85)
    assert found[2] == f"{tmp_path}/out/mnist.h5"


@pytest.mark.slow
def test_the_distributed_program_on_one_node(tmp_path: Path, data_dir: Path) -> None:
    command = folders(tmp_path, data_dir / "mnist", EXAMPLE)
    steps = 150
    with started([*command, f"mnist_dist.py --max_steps={steps}"]) as job:
        text = output(job)

    assert accuracy(text) >= 0.85
    assert tf.train.latest_checkpoint(str(tmp_path / "out")) == f"{tmp_path}/out/model.ckpt-{steps}"


@pytest.mark.slow
def test_the_distributed_program_loses_a_node_and_goes_on(tmp_path: Path, data_dir: Path) -> None:
    """Two nodes and a parameter server, which has nothing to do and ends by itself."""
    command = folders(tmp_path, data_dir / "mnist", EXAMPLE)
    flags = "--max_steps=150 --save_steps=50"
    with started([*command, "--nodes=2", "--ps=1", f"mnist_dist.py {flags}"]) as job:
        kill_worker(tmp_path / "out", tmp_path / "out" / "model.ckpt-50.index")
        text = output(job)

    assert "mox uai: worker 0 failed first: killed by SIGKILL (code 137)" in text
    assert "restart 1 of 3" in text
    resumed = [int(step) for step in re.findall(r"step: 0\(global step: (\d+)\)", text)]
    assert min(resumed) == 0
    assert max(resumed) >= 50
    assert accuracy(text) >= 0.85
    assert "[ps 0] INFO:tensorflow:All workers are finished: ps 0 ends" in text


def kill_worker(folder: Path, after: Path) -> None:
    """Kills the worker of the job that writes to the folder, once there is the file `after`."""
    until = time.monotonic() + LIMIT / 2
    while not after.exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_ours = os.fsencode(f"--output_dir={folder}") in (process / "cmdline").read_bytes()
            if is_ours and b'"task": {"type": "worker"' in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)


@pytest.mark.slow
def test_two_workers_make_the_steps_of_one(tmp_path: Path) -> None:
    """Each takes every second batch of 200, so that both together see all 400 samples."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(MODEL_FN)
    with started([*folders(tmp_path, tmp_path, tmp_path / "code"), "--nodes=2", "train.py"]) as job:
        text = output(job)

    assert [int(step) for step in re.findall(r"Evaluation of step (\d+)", text)][:3] == [4, 8, 12]
    assert "[master 0] result chief 12\n" in text
    assert "[worker 0] result worker None\n" in text
    # In a listener the chief is alone; after the training all get what it finds.
    assert "[master 0] inside 15\n" in text
    assert "[worker 0] inside" not in text
    assert "[master 0] again 15\n" in text
    assert "[worker 0] again 15\n" in text
    x = np.random.RandomState(0).normal(size=(400, 5)).astype("float32")
    y = (x.sum(1) > 0).astype("int64")
    weights = np.zeros((5, 2))
    for _ in range(15):
        scores = np.exp(x @ weights)
        weights -= 0.5 * x.T @ (scores / scores.sum(1, keepdims=True) - np.eye(2)[y]) / 400
    saved = tf.train.load_variable(str(tmp_path / "out"), "w")
    np.testing.assert_allclose(saved, weights, atol=1e-5)
