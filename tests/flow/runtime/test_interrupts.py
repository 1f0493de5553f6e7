"""Ctrl-C and SIGTERM while steps are queued: the program ends behind the step that runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warm

import moxing.flow as flow
from moxing.flow.runtime.step_queue import DroppedError, Worker

# A step takes 0.3 s: 16 in the queue would keep the process for five seconds.
PROGRAM = """\
import itertools, sys, time
import oneflow as flow

if "--soon" in sys.argv:
    from moxing.flow.runtime import signals
    signals.PATIENCE = 1.0


@flow.function
def train():
    flow.config.train.primary_lr(1.0)
    flow.config.train.model_update_conf(dict(naive_conf={}))
    w = flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
    flow.watch(w, lambda value: time.sleep(600 if value and "--long" in sys.argv else 0.3))
    flow.losses.add_loss(w * -1.0)
    return w


point = flow.train.CheckPoint()
point.init()
print("started", flush=True)
ended = []


def show(value):
    ended.append(value)
    print("step", int(value[0]), flush=True)


try:
    for called in itertools.count(1):
        train().async_get(show)
        if called - len(ended) == 14:
            print("the queue is full", file=sys.stderr, flush=True)
except KeyboardInterrupt:
    if "--save" not in sys.argv:
        raise
    point.save("last")
"""


# Time does not count here: a busy machine takes seconds to end any process.
def _start(folder: Path, *flags: str) -> warm.Popen:
    (folder / "train.py").write_text(PROGRAM)
    process = warm.Popen(
        [sys.executable, "-m", "moxing", "run", "train.py", *flags],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    assert process.stdout.readline() == "step 0\n"
    return process


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_program_behind_the_step_that_runs(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    process = _start(tmp_path)
    assert process.stderr is not None
    assert any("the queue is full" in line for line in process.stderr)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)

    assert process.returncode == code, err
    line = f"{number.name}: stopping after this step. Send it again to stop at once."
    assert f"WARNING:tensorflow:{line}" in err.splitlines()
    done = len(out.splitlines()) + 1
    line = next(line for line in err.splitlines() if "stopped after" in line)
    assert line.startswith(
        f"WARNING:tensorflow:{number.name}: stopped after step {done} of job train; "
    )
    assert line.endswith(" calls in the queue were not made.")
    assert int(line.split("; ")[1].split()[0]) >= 10  # The queue was full.
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_program_that_catches_ctrl_c_can_save_what_was_reached(tmp_path: Path) -> None:
    process = _start(tmp_path, "--save")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)

    assert process.returncode == 0, err
    steps = np.fromfile(tmp_path / "last" / "System-Train-TrainStep-train" / "out", "<i8")
    assert steps.tolist() == [len(out.splitlines()) + 1]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_step_that_does_not_end_is_left_after_a_while(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    process = _start(tmp_path, "--long", "--soon")
    process.send_signal(number)
    _, err = process.communicate(timeout=240)

    assert process.returncode == code, err
    assert "has not ended 1 s after the signal: leaving without it." in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_second_signal_ends_a_program_whose_step_does_not_end(tmp_path: Path) -> None:
    process = _start(tmp_path, "--long")
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    assert any("Send it again to stop at once." in line for line in process.stderr)
    time.sleep(1)  # One who signals twice right away asks once.
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)

    assert process.wait(timeout=240) == -signal.SIGTERM


@pytest.fixture
def _session() -> Iterator[None]:
    flow.clear_default_session()
    yield
    flow.clear_default_session()


@pytest.mark.usefixtures("_session")
def test_handlers_are_the_sessions_while_it_is_open_and_the_users_own_stay() -> None:
    def mine(*_: Any) -> None:
        raise AssertionError

    before = signal.getsignal(signal.SIGINT)
    old = signal.signal(signal.SIGTERM, mine)
    try:

        @flow.function
        def job(x: Any = flow.FixedTensorDef((1,))) -> Any:  # noqa: B008
            return x

        job(np.zeros(1, np.float32)).get()
        assert signal.getsignal(signal.SIGTERM) is mine
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert job(np.ones(1, np.float32)).get().tolist() == [1]
        flow.clear_default_session()
        assert signal.getsignal(signal.SIGINT) == before
    finally:
        signal.signal(signal.SIGTERM, old)


def test_dropped_steps_raise_where_their_result_is_asked_for_and_call_nobody() -> None:
    worker, called = Worker(), []
    runs, go = threading.Event(), threading.Event()
    first = worker.submit(lambda: runs.set() or go.wait(20))
    assert runs.wait(20)
    waiting = [worker.submit(lambda: called.append("ran")) for _ in range(3)]
    worker.when_done(waiting[0], called.append)
    worker.drop()
    after = worker.submit(lambda: 7)
    go.set()

    assert first.result()
    assert after.result() == 7
    with pytest.raises(DroppedError, match="was dropped by Ctrl-C or a signal before it ran"):
        waiting[1].result()
    worker.drain()
    worker.close()
    assert called == []
    assert worker.dropped == 3
