"""Killed at any moment, a run leaves its last commit to the next one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.restoring.newest import newest

ROUNDS = 8

# Each line of input starts a run in a process forked for it, so that TensorFlow is imported once. A
# run tells the step that it starts from and every commit.
RUNS = """
import os, sys
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
from moxing.engine.checkpoint.lock import lock
from moxing.engine.checkpoint.restoring.restorer import Restorer
from moxing.engine.checkpoint.restoring.source import choose
from moxing.engine.checkpoint.saving.saver import Saver

def run(directory):
    with lock(directory), tf.Graph().as_default() as graph, tf.Session() as session:
        step = tf.train.get_or_create_global_step()
        zeros, ones = tf.zeros_initializer(), tf.ones([40])
        values = [tf.get_variable(f"v{n}", [40], initializer=zeros) for n in range(20)]
        found = choose(directory, None, mode_is_train=True)
        restorer = Restorer(found, tf.global_variables(), foreign=None) if found else None
        saver = Saver(directory, tf.global_variables(), keep=2)
        advance = tf.group(step.assign_add(1), *(value.assign_add(ones) for value in values))
        start = tf.global_variables_initializer()
        graph.finalize()
        session.run(start)
        if restorer:
            restorer.run(session)
        print(os.getpid(), session.run(step), flush=True)
        while True:
            session.run(advance)
            now = int(session.run(step))
            print(saver.save(session, now, {"step": now}).step, flush=True)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        run(sys.argv[1])
    os.waitpid(child, 0)
    print("killed", flush=True)
"""


@pytest.mark.slow
def test_kill_at_any_moment(tmp_path: Path) -> None:
    told = 0
    with subprocess.Popen(
        [sys.executable, "-c", RUNS, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        for _ in range(ROUNDS):
            started_from, told = _one_run(process, told)
            found = newest(tmp_path)
            assert found is not None
            # The commit may be there before it is told.
            assert found.step in (told, told + 1)
            assert started_from <= told
            assert read_extra(found) == {"step": found.step}
            _check_values(found.prefix, found.step)
            told = found.step
        assert process.stdin is not None
        process.stdin.close()
    assert len(list(tmp_path.glob(".mox-tmp-*"))) <= 1
    # Two are kept; of a third one, a killed run may have left something.
    assert len(list(tmp_path.glob("*.index"))) <= 3


def _one_run(process: subprocess.Popen[str], told: int) -> tuple[int, int]:
    """Starts a run, kills it, and returns the steps that it started from and committed last."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    pid, started_from = map(int, process.stdout.readline().split())
    assert started_from == told
    told = int(process.stdout.readline())
    time.sleep(0.05 + random.random() * 0.2)
    os.kill(pid, signal.SIGKILL)
    while (line := process.stdout.readline()) != "killed\n":
        assert line, "the process is gone"
        told = int(line)
    return started_from, told


def _check_values(prefix: str, step: int | None) -> None:
    reader = tf.train.load_checkpoint(prefix)
    values = {float(reader.get_tensor(f"v{n}")[7]) for n in range(20)}
    assert values == {step} == {int(reader.get_tensor("global_step"))}
