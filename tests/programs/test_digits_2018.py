"""Programs in the manner of 2018, for TensorFlow 1.x, run unmodified: train, again, evaluate."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import warm

from moxing.launch.ports import free_ports

TRAIN = """
import sys
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

tf.flags.DEFINE_string('data_url', '/nowhere', 'digits')
tf.flags.DEFINE_string('train_url', '/nowhere', 'logs')
flags = tf.flags.FLAGS
digits = input_data.read_data_sets(flags.data_url, one_hot=True)
slim = tf.contrib.slim

import moxing.tensorflow as mox

EVALUATE = 'eval' in sys.argv[0]


def input_fn(run_mode, **kwargs):
  part = digits.test if EVALUATE else digits.train
  # Single samples would leave the weights wherever the last one pulled them.
  size = max(n for n in range(1, 101) if part.num_examples % n == 0)

  def batches():
    rounds = 1 if EVALUATE else 2 if part.num_examples > 10000 else 5
    for _ in range(rounds * part.num_examples // size):
      yield part.next_batch(size)

  shapes = (tf.TensorShape([None, 784]), tf.TensorShape([None, 10]))
  ds = tf.data.Dataset.from_generator(batches, (tf.float32, tf.int64), shapes)
  return ds.make_one_shot_iterator().get_next()


def model_fn(inputs, run_mode, **kwargs):
  images, labels = inputs
  logits = slim.fully_connected(images, 10, activation_fn=None, scope='logits')
  loss = tf.losses.softmax_cross_entropy(labels, logits)
  hit = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
  accuracy = tf.reduce_mean(tf.cast(hit, tf.float32))
  return mox.ModelSpec(loss=loss, log_info={'loss': loss, 'accuracy': accuracy})


mox.run(input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.5),
        run_mode=mox.ModeKeys.EVAL if EVALUATE else mox.ModeKeys.TRAIN,
        log_dir=None if EVALUATE else flags.train_url,
        checkpoint_path=flags.train_url if EVALUATE else None,
        max_number_of_steps=sys.maxint)
"""

TWO_LOSSES = """
import tensorflow as tf
import moxing.tensorflow as mox

tf.flags.DEFINE_integer('steps', 5, '')
flags = tf.flags.FLAGS


def input_fn(run_mode, **kwargs):
  return [tf.constant(0.0)]


def model_fn(inputs, mode, **kwargs):
  noise = tf.random_normal([8, 4])
  with tf.variable_scope('generator'):
    fake = tf.layers.batch_normalization(tf.layers.dense(noise, 3), training=True)
  with tf.variable_scope('discriminator'):
    score = tf.layers.dense(fake, 1, name='score')
  loss = tf.reduce_mean(tf.square(score - 1.0))
  return mox.ModelSpec(loss=[loss, -loss], var_scopes=[['generator'], ['discriminator']],
                       log_info={'loss': loss})




if __name__ == '__main__':
  mox.run(input_fn=input_fn, model_fn=model_fn,
          optimizer_fn=[mox.get_optimizer_fn('adam', learning_rate=0.01)] * 2,
          run_mode=mox.ModeKeys.TRAIN, batch_size=8, auto_batch=False,
          max_number_of_steps=flags.steps, log_every_n_steps=1)
"""

pytestmark = pytest.mark.slow


def command(script: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "moxing", "run", str(script), *flags]


def mox_run(script: Path, *flags: str) -> str:
    done = warm.run(command(script, *flags), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stderr


def accuracy(evaluated: str) -> float:
    return float(re.findall(r"mean over all:.*accuracy: ([\d.]+)", evaluated)[0])


@pytest.mark.timeout(600)
def test_train_then_again_then_evaluate(tmp_path: Path, data_dir: Path, real_data: bool) -> None:
    for name in ("train.py", "eval.py"):
        (tmp_path / name).write_text(TRAIN)
    logs = tmp_path / "logs"
    flags = [f"--data_url={data_dir / 'mnist'}", f"--train_url={logs}", "--num_gpus=1", "--odd=1"]
    first = mox_run(tmp_path / "train.py", *flags)
    assert "INFO:tensorflow:step: 0(global step: 0)\tsample/sec: " in first
    assert "Saving checkpoints for 0 into" in first
    last = int(re.findall(r"Saving checkpoints for (\d+) into", first)[-1])
    assert not real_data or last == 1100
    again = mox_run(tmp_path / "train.py", *flags)
    assert f"is already at step {last}, where its input ended" in again
    assert "Saving checkpoints" not in again
    evaluated = mox_run(tmp_path / "eval.py", *flags)
    assert accuracy(evaluated) >= (0.88 if real_data else 0.85)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("together", [True, False], ids=["together", "each by itself"])
def test_two_servers_and_two_workers_of_two_devices_each(
    tmp_path: Path, data_dir: Path, real_data: bool, together: bool
) -> None:
    """The same program as four tasks, each told by the four flags what it is."""
    for name in ("train.py", "eval.py"):
        (tmp_path / name).write_text(TRAIN)
    ports = free_ports(4)
    hosts = [f"127.0.0.1:{port}" for port in ports]
    data = [f"--data_url={data_dir / 'mnist'}", f"--train_url={tmp_path / 'logs'}"]
    shared = [f"--ps_hosts={','.join(hosts[:2])}", f"--worker_hosts={','.join(hosts[2:])}"]
    shared += ["--num_gpus=2", *([] if together else ["--sync_replicas=False"])]
    tasks = [(job, index) for job in ("ps", "worker") for index in (0, 1)]
    running, texts = [], [tmp_path / f"{job}-{index}.txt" for job, index in tasks]
    for (job, index), text in zip(tasks, texts, strict=True):
        own = [f"--job_name={job}", f"--task_index={index}"]
        with text.open("w") as output:
            line = command(tmp_path / "train.py", *data, *shared, *own)
            running.append(warm.Popen(line, stdout=output, stderr=output))
    try:
        codes = [process.wait(300) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    told = "\n".join(text.read_text()[-2000:] for text in texts)
    assert codes == [0, 0, 0, 0], told
    # Each worker took its data to the end: its rounds in four parts, or in two each.
    last = int(re.findall(r"Saving checkpoints for (\d+) into", texts[2].read_text())[-1])
    assert not real_data or last == (550 if together else 1100), told
    assert "Saving checkpoints" not in texts[3].read_text()
    evaluated = mox_run(tmp_path / "eval.py", *data)
    assert accuracy(evaluated) >= (0.88 if real_data else 0.85)


@pytest.mark.timeout(300)
def test_two_losses_in_one_step(tmp_path: Path) -> None:
    (tmp_path / "gan.py").write_text(TWO_LOSSES)
    shown = mox_run(tmp_path / "gan.py", "--steps=7")
    assert "step: 6(global step: 6)" in shown
    assert "Trained 7 steps" in shown
