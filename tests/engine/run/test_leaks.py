"""Runs in one process leave nothing behind."""

from __future__ import annotations

import gc
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import (  # noqa: E402
    constant,
    execute,
    numbers,
    once,
)


@pytest.mark.slow
def test_thirty_runs_leave_no_thread_file_or_session(tmp_path: Path) -> None:
    def batched(mode: str) -> Any:
        number = once(tf.data.Dataset.range(100)).get_next()
        return tf.train.batch([tf.cast(number, tf.float32)], 2)

    def one(index: int) -> None:
        input_fn = [constant, numbers(50), batched][index % 3]
        log_dir = tmp_path / str(index) if index % 2 else None
        execute(log_dir=log_dir, input_fn=input_fn, max_steps=3)

    def counts() -> dict[str, int]:
        gc.collect()
        sessions = sum(isinstance(o, tf.Session) for o in gc.get_objects())
        native = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self") else 0
        files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self") else 0
        return {
            "threads": threading.active_count(),
            "native threads": native,
            "files": files,
            "sessions": sessions,
        }

    for index in range(3):  # Pools that TensorFlow keeps for the process grow in the first runs.
        one(index)
    before = counts()
    for index in range(3, 33):
        one(index)
    after = counts()
    assert after["threads"] <= before["threads"]
    assert after["sessions"] <= before["sessions"]
    assert after["files"] <= before["files"]
    assert after["native threads"] <= before["native threads"] + 4
