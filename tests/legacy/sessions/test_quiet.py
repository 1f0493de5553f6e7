"""`mox run` prints no line of native code that its TensorFlow did not print."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
    import tensorflow as tf

    number = tf.train.input_producer(tf.range(9), shuffle=True).dequeue()
    batch = tf.train.shuffle_batch([number], 4, 20, 8, num_threads=2)
    ends = tf.train.batch([tf.train.input_producer([1, 2], num_epochs=2).dequeue()], 2)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while not coordinator.should_stop():
                session.run([batch, ends])
        except tf.errors.OutOfRangeError:
            print('the end')
        coordinator.request_stop()
        coordinator.join(threads)
"""


# In the manner of TensorFlow 2.0: devices are first used by an operation, or when they are listed.
EAGER = """
    import tensorflow as tf

    @tf.function
    def double(x):
        return 2 * x

    print(int(double(tf.constant(3))), len(tf.config.experimental.list_physical_devices('CPU')))
"""
LISTED = """
    import tensorflow as tf

    for gpu in tf.config.experimental.list_physical_devices('GPU'):
        tf.config.experimental.set_memory_growth(gpu, True)
    with tf.GradientTape() as tape:
        x = tf.Variable(3.0)
        y = x * x
    print(tape.gradient(y, x).numpy())
"""

# Keras imports TensorFlow before openmox does, and TensorFlow counts devices as absl's app starts.
KERAS_FIRST = """
    import keras
    from absl import app

    import moxing.keras

    app.run(lambda arguments: print(len(keras.Sequential().layers)))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "printed"),
    [(PROGRAM, "the end\n"), (EAGER, "6 1\n"), (LISTED, "6.0\n"), (KERAS_FIRST, "0\n")],
)
def test_native_code_says_nothing(tmp_path: Path, program: str, printed: str) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(program))
    environment = {name: value for name, value in os.environ.items() if "MIN_LOG" not in name}

    done = subprocess.run(
        [sys.executable, "-m", "moxing", "run", "train.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, printed), done.stderr
    assert [line for line in done.stderr.splitlines() if "WARNING:tensorflow" not in line] == []
