"""A strategy that is entered becomes TensorFlow's own, in a cluster of the platform too."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import warm

# Unlike the programs of that time it leaves `master` in TF_CONFIG as the platform wrote it.
PROGRAM = """
import numpy as np
import tensorflow as tf
from absl import app, flags

for name in ('data_dir', 'output_dir', 'work_dir'):
  flags.DEFINE_string(name, '', '')
flags.DEFINE_integer('num_gpus', 0, '')


def main(_):
  strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
  with strategy.scope():
    layer = tf.keras.layers.Dense(2, input_shape=(8,), kernel_initializer='ones')
    model = tf.keras.Sequential([layer])
    model.compile('sgd', 'mse')
  x = np.ones((64, 8), 'float32')
  model.fit(x, x[:, :2], batch_size=32, epochs=1, verbose=0)
  print('replicas', strategy.num_replicas_in_sync, 'bias', model.get_weights()[1])


app.run(main)
"""


@pytest.mark.slow
def test_two_nodes_train_under_a_strategy_that_is_entered(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    folders = [f"--data={tmp_path}", f"--output={tmp_path}/out", f"--code={tmp_path}"]

    done = warm.run(
        [sys.executable, "-m", "moxing", "uai", "train", "--nodes=2", *folders]
        + [f"--logs={tmp_path}/logs", "train.py"],
        env=warm.forking(),
        capture_output=True,
        text=True,
        timeout=400,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = dict(re.findall(r"\[(\w+) 0\] replicas 2 bias (\[.*\])", done.stdout))
    assert sorted(found) == ["master", "worker"]
    assert found["master"] == found["worker"] != "[0. 0.]"
