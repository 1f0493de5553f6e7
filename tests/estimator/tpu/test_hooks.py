"""The hook of contrib.tpu that writes checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.estimator import tpu


class _Told(tf.train.CheckpointSaverListener):
    def __init__(self) -> None:
        self.steps: list[int] = []

    def after_save(self, session: Any, global_step_value: int) -> None:
        self.steps.append(global_step_value)


def test_checkpoints_are_written_every_so_many_steps(tmp_path: Path) -> None:
    told = _Told()
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        more = tf.assign_add(step, 1)
        hook = tpu.AsyncCheckpointSaverHook(
            str(tmp_path), save_steps=2, saver=tf.train.Saver(), listeners=[told]
        )
        with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
            for _ in range(5):
                session.run(more)

    assert told.steps == [0, 2, 4, 5]  # before the first step, and at the end, too
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-5")
