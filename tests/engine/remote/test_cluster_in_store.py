"""What a cluster saves reaches the store, whoever leaves, dies or is lost meanwhile."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moxing.framework import file
from moxing.launch.ports import free_ports

sys.path.insert(0, str(Path(__file__).parents[1]))
from gang import Nursery  # noqa: E402

pytestmark = pytest.mark.slow
LIMIT, BREAK = 150.0, 1.0

# Two numbers are learned, as fast as it goes. What breaks off steps, and tries a store, is quick.
PROGRAM = f"""
import os, sys, time
os.environ.update(S3_ENDPOINT=sys.argv[1], ACCESS_KEY_ID=sys.argv[2],
                  SECRET_ACCESS_KEY=sys.argv[3], MOX_FILE_CACHE_DIR=sys.argv[4],
                  MOX_FILE_RETRY="1", MOX_FILE_RETRY_WAIT="0.01", CUDA_VISIBLE_DEVICES="-1")
log_dir, steps, save_steps, index = sys.argv[5], int(sys.argv[6]), int(sys.argv[7]), sys.argv[8]
import tensorflow.compat.v1 as tf
import moxing.tensorflow as mox
from moxing.engine.process import escape, team
from moxing.engine.remote import uploader

escape._OWN_END_SECONDS, escape._BREAK_SECONDS = 0.1, {BREAK}
uploader._LONGEST_PAUSE, team._PATIENCE = 0.2, 0.2

def input_fn(run_mode):
    return tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors([1.0, 2.0]).repeat())

def model_fn(inputs, run_mode):
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(w - inputs[0]))
    return mox.ModelSpec(loss=loss, log_info={{"loss": loss}})

mox.run(input_fn=lambda mode: input_fn(mode).get_next(), model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.01), run_mode="TRAIN",
        log_dir=log_dir, save_model_steps=save_steps, max_number_of_steps=steps)
print("worker", index, "is done", flush=True)
if index == "1":
    time.sleep({LIMIT})
"""


class Workers:
    """Two processes that train together."""

    def __init__(self, nursery: Nursery, folder: Path, given: tuple[str, ...]) -> None:
        self._nursery, self._folder = nursery, folder
        folder.mkdir()
        program = folder / "program.py"
        program.write_text(PROGRAM)
        hosts = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
        flags = (f"--worker_hosts={hosts}", "--job_name=worker")
        for index in range(2):
            (folder / str(index)).touch()
        self.pids = [
            nursery.start(program, folder / str(i), *given, str(i), *flags, f"--task_index={i}")
            for i in range(2)
        ]

    def text(self, index: int) -> str:
        return (self._folder / str(index)).read_text(errors="replace")

    def wait_for(self, index: int, part: str) -> str:
        """Waits until a worker has printed that; all that it has printed."""
        until = time.monotonic() + LIMIT
        while part not in self.text(index):
            assert self.pids[index] not in self._nursery.ends, self.text(index)[-3000:]
            assert time.monotonic() < until, self.text(index)[-3000:]
            self._nursery.listen(0.05)
        return self.text(index)

    def code(self, index: int) -> int:
        until = time.monotonic() + LIMIT
        while self.pids[index] not in self._nursery.ends:
            assert time.monotonic() < until, self.text(index)[-3000:]
            self._nursery.listen(0.5)
        return self._nursery.ends[self.pids[index]][0]

    def send(self, number: int, *indices: int) -> None:
        for index in indices:
            os.kill(self.pids[index], number)

    def stay(self, index: int, seconds: float) -> None:
        """For so long, a worker does not end."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._nursery.listen(0.1)
            assert self.pids[index] not in self._nursery.ends, self.text(index)[-3000:]

    def kill(self) -> None:
        for pid in self.pids:
            if pid not in self._nursery.ends:
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    started = Nursery()
    yield started
    started.close()


@pytest.fixture
def start(
    nursery: Nursery, proxy: Any, keys: tuple[str, str], cache_dir: Path, tmp_path: Path
) -> Iterator[Any]:
    started: list[Workers] = []

    def begin(log_dir: str, steps: int, save_steps: int = 10**9) -> Workers:
        given = (proxy.url, *keys, str(cache_dir), log_dir, str(steps), str(save_steps))
        started.append(Workers(nursery, tmp_path / f"job{len(started)}", given))
        return started[-1]

    yield begin
    for workers in started:
        workers.kill()


def uploaded(log_dir: str) -> int:
    """The step of the newest commit in the store; -1 where there is none."""
    names = file.list_directory(log_dir) if file.exists(log_dir) else []
    found = (re.fullmatch(r"model\.ckpt-(\d+)\.manifest\.json", name) for name in names)
    return max((int(match[1]) for match in found if match), default=-1)


def saved(workers: Workers) -> int:
    """The step that the chief has said last that it saves."""
    return int(re.findall(r"Saving checkpoints for (\d+) into", workers.text(0))[-1])


def test_told_to_stop_all_leave_when_the_agreed_step_is_in_the_store(
    start: Any, proxy: Any, bucket: str
) -> None:
    log_dir = f"{bucket}/out"
    workers = start(log_dir, 10**9)
    workers.wait_for(0, "step: 100(")
    proxy.away = True
    workers.send(signal.SIGTERM, 0, 1)
    told = workers.wait_for(0, "Stopped by SIGTERM at step ")
    workers.wait_for(1, "Stopped by SIGTERM at step ")
    workers.wait_for(1, "Waiting for worker 0, until what it has saved is in its place.")
    workers.stay(0, 0.5)
    proxy.away = False
    assert (workers.code(0), workers.code(1)) == (143, 143), workers.text(0)[-3000:]
    step = int(told.rpartition("Stopped by SIGTERM at step ")[2].partition(",")[0])
    assert uploaded(log_dir) == step


def test_a_worker_that_dies_behind_the_last_step_does_not_cut_the_upload(
    start: Any, proxy: Any, bucket: str
) -> None:
    log_dir = f"{bucket}/out"
    workers = start(log_dir, 3000)
    workers.wait_for(0, "step: 100(")
    proxy.away = True
    workers.wait_for(1, "worker 1 is done")
    workers.send(signal.SIGKILL, 1)
    workers.wait_for(0, "died: connection lost")
    workers.stay(0, BREAK + 1.0)
    proxy.away = False
    assert workers.code(0) == 143  # The work is done, and a partner is lost all the same.
    assert "worker 0 is done" in workers.text(0)
    assert uploaded(log_dir) == 3000


def test_commits_of_a_chief_that_loses_a_worker_reach_the_store(
    start: Any, proxy: Any, bucket: str
) -> None:
    log_dir = f"{bucket}/out"
    workers = start(log_dir, 10**9, 50)
    workers.wait_for(0, "step: 100(")
    proxy.away = True
    seen = saved(workers)
    while saved(workers) == seen:
        workers.stay(0, 0.1)
    workers.send(signal.SIGKILL, 1)
    workers.wait_for(0, "died: connection lost")
    workers.stay(0, BREAK + 1.0)
    proxy.away = False
    assert workers.code(0) == 143, workers.text(0)
    assert "PeerFailureError: worker 1 (" in workers.text(0)
    assert uploaded(log_dir) == saved(workers) > seen


def test_a_chief_that_was_killed_goes_on_from_the_store(start: Any, bucket: str) -> None:
    log_dir = f"{bucket}/out"
    workers = start(log_dir, 10**9, 50)
    until = time.monotonic() + LIMIT
    while uploaded(log_dir) < 50:
        assert time.monotonic() < until, workers.text(0)[-3000:]
        workers.stay(0, 0.1)
    workers.send(signal.SIGKILL, 0)
    assert (workers.code(0), workers.code(1)) == (-signal.SIGKILL, 143)
    assert "PeerFailureError: worker 0 (" in workers.text(1)

    step = uploaded(log_dir)
    again = start(log_dir, 10**9, 10**9)
    again.wait_for(1, f"(global step: {step}")  # Its first step, of the chief's number.
    assert f"Restoring parameters from {log_dir}/model.ckpt-{step}\n" in again.text(0)
    assert f"Taking over {log_dir} from process {workers.pids[0]} on " in again.text(0)
    again.send(signal.SIGTERM, 0, 1)
    assert (again.code(0), again.code(1)) == (143, 143), again.text(0)[-3000:]
    assert uploaded(log_dir) > step
