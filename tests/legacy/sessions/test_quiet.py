"""`mox run` prints no line of native code that TensorFlow 1.x did not print."""

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


@pytest.mark.slow
def test_queues_end_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(PROGRAM))
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

    assert (done.returncode, done.stdout) == (0, "the end\n"), done.stderr
    assert [line for line in done.stderr.splitlines() if "WARNING:tensorflow" not in line] == []
