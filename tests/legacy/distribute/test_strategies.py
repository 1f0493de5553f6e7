"""Strategies of tf.distribute behave as programs of TensorFlow 2.0 to 2.4 expect."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import warm
from tensorflow.python.distribute import collective_all_reduce_strategy, input_lib

from moxing.legacy.distribute import strategies

_EXTENDED: Any = collective_all_reduce_strategy.CollectiveAllReduceExtended


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives the classes of TensorFlow their own methods back behind each test."""
    kept = input_lib.DistributedIteratorBase.get_next
    monkeypatch.setattr(input_lib.DistributedIteratorBase, "get_next", kept)

    def meet(self: object) -> None:
        ctypes.CDLL(None).signal(
            signal.SIGTERM, ctypes.c_void_p(1)
        )  # SIG_IGN, as native code does.

    monkeypatch.setattr(_EXTENDED, "_initialize_multi_worker", meet)


@pytest.mark.parametrize("preempted", [False, True])
def test_sigterm_calls_the_programs_handler_where_tensorflow_has_no_use_for_it(
    preempted: bool,
) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    try:
        strategies.install(preempted)
        strategies.install(preempted)
        _EXTENDED._initialize_multi_worker(object())
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

    assert seen == ([] if preempted else [signal.SIGTERM])


_REPLICAS = """
import tensorflow as tf

devices = tf.config.experimental.list_physical_devices("CPU")
tf.config.experimental.set_virtual_device_configuration(
    devices[0], [tf.config.experimental.VirtualDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
shared = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))
own = tf.data.Dataset.range(2).batch(1)


@tf.function
def step(iterator):
    def in_replica(iterator):
        batch = next(iterator)
        return tf.reduce_sum(batch), tf.shape(batch)[0]

    return strategy.run(in_replica, args=(iterator,))


iterator = iter(shared)
for _ in range(2):
    sums, sizes = step(iterator)
    print("sums", [int(s) for s in strategy.experimental_local_results(sums)])
    print("sizes", [int(s) for s in strategy.experimental_local_results(sizes)])
print("outside", [[int(n) for n in batch] for batch in own])
every = [n for batch in shared for n in strategy.experimental_local_results(batch)]
print("whole", [int(tf.reduce_sum(n)) for n in every])
"""


def test_replicas_read_their_shares_of_a_distributed_iterator(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_REPLICAS)

    result: subprocess.CompletedProcess[Any] = warm.run(
        [sys.executable, "-m", "moxing", "run", "train.py"],
        cwd=tmp_path,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        *("sums [1, 5]", "sizes [2, 2]", "sums [9, 13]", "sizes [2, 2]"),
        *("outside [[0], [1]]", "whole [1, 5, 9, 13]"),
    ]
