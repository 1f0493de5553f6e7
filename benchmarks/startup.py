"""How long a program waits before its first step, beside `import tensorflow` alone.

    python benchmarks/startup.py [--repeats N] [--mnist DIR]

Each measurement is a process of its own, the contestants alternate, and the medians are printed:

- import: `python -c "import tensorflow"`,
- first step: `mox run` of a program for TensorFlow 1.x, from start to the end of its first step,
- with --mnist (a folder with the four idx .gz files): softmax regression on MNIST, 2,750 steps of
  100 digits from a generator as programs of 2018 write it, and its evaluation, start-up included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIRST_STEP = """
import tensorflow as tf
import moxing.tensorflow as mox


def input_fn(mode):
  return tf.constant([1.0])


def model_fn(inputs, mode):
  loss = tf.reduce_sum(inputs[0] * tf.get_variable('w', initializer=1.0))
  return mox.ModelSpec(loss=loss, log_info={'loss': loss})


mox.run(input_fn=input_fn, model_fn=model_fn,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.1),
        run_mode=mox.ModeKeys.TRAIN, max_number_of_steps=1)
"""

DIGITS = """
import sys
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
import moxing.tensorflow as mox

tf.flags.DEFINE_string('data_url', '', '')
tf.flags.DEFINE_string('train_url', '', '')
tf.flags.DEFINE_boolean('evaluate', False, '')
flags = tf.flags.FLAGS
digits = input_data.read_data_sets(flags.data_url, one_hot=True)


def input_fn(mode):
  part = digits.test if flags.evaluate else digits.train
  rounds = 1 if flags.evaluate else 5

  def batches():
    for _ in range(rounds * part.num_examples // 100):
      yield part.next_batch(100)

  shapes = (tf.TensorShape([None, 784]), tf.TensorShape([None, 10]))
  ds = tf.data.Dataset.from_generator(batches, (tf.float32, tf.int64), shapes)
  return ds.make_one_shot_iterator().get_next()


def model_fn(inputs, mode):
  x, y = inputs
  logits = tf.matmul(x, tf.get_variable('W', initializer=tf.zeros([784, 10])))
  logits += tf.get_variable('b', initializer=tf.zeros([10]))
  loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
  hit = tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1))
  accuracy = tf.reduce_mean(tf.cast(hit, tf.float32))
  return mox.ModelSpec(loss=loss, log_info={'loss': loss, 'accuracy': accuracy})


mox.run(input_fn=input_fn, model_fn=model_fn,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.5),
        run_mode='EVAL' if flags.evaluate else 'TRAIN',
        log_dir=None if flags.evaluate else flags.train_url,
        checkpoint_path=flags.train_url if flags.evaluate else None,
        max_number_of_steps=sys.maxint)
"""


def seconds(*command: str) -> float:
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=300)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--mnist")
    arguments = parser.parse_args()
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        first, digits = Path(folder, "first.py"), Path(folder, "digits.py")
        first.write_text(FIRST_STEP)
        digits.write_text(DIGITS)
        mox = (sys.executable, "-m", "moxing", "run")
        for number in range(arguments.repeats):
            taken = {
                "import tensorflow": seconds(sys.executable, "-c", "import tensorflow"),
                "mox run, first step": seconds(*mox, str(first)),
            }
            if arguments.mnist:
                logs = f"{folder}/logs{number}"
                flags = (f"--data_url={arguments.mnist}", f"--train_url={logs}")
                taken["MNIST, training"] = seconds(*mox, str(digits), *flags)
                taken["MNIST, evaluation"] = seconds(*mox, str(digits), *flags, "--evaluate")
            for name, value in taken.items():
                times.setdefault(name, []).append(value)
    base = statistics.median(times["import tensorflow"])
    print(f"median of {arguments.repeats} processes each")
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"  {name:22s} {middle:6.2f} s   {middle - base:+6.2f} s over the import")


if __name__ == "__main__":
    main()
