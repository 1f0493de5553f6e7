"""Signals save the step and end the run with the codes that schedulers count by."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing import signals
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.job.job import EVAL, Model
from moxing.errors import MoxRuntimeError

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, exporting, model_fn, numbers, only_step_zero  # noqa: E402
from zygote import Zygote  # noqa: E402


class Signal(tf.train.SessionRunHook):
    """Sends this process a signal at the end of a step, or before the first."""

    def __init__(self, number: int, steps: int) -> None:
        self._number, self._steps = number, steps
        self.ended = False

    def after_create_session(self, session: Any, coord: Any) -> None:
        if not self._steps:
            os.kill(os.getpid(), self._number)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._steps -= 1
        if not self._steps:
            os.kill(os.getpid(), self._number)

    def end(self, session: Any) -> None:
        self.ended = True


def signalled(hook: Signal) -> Any:
    return lambda inputs, mode: dataclasses.replace(exporting(inputs, mode), hooks=(hook,))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_signal_saves_the_step_and_ends_with_its_code(
    tmp_path: Path, number: int, code: int, steps: int
) -> None:
    before = signal.getsignal(number)
    hook = Signal(number, steps)
    with pytest.raises(SystemExit) as caught:
        execute(log_dir=tmp_path, model_fn=signalled(hook), max_steps=50, export=True)
    assert caught.value.code == code
    found = newest(tmp_path)
    assert found is not None
    assert found.step == steps
    assert not (tmp_path / "1").exists()
    assert not hook.ended
    assert signal.getsignal(number) == before
    assert execute(log_dir=tmp_path, model_fn=exporting, max_steps=9).steps == 9 - steps


def test_a_signal_in_an_evaluation_ends_it_too(tmp_path: Path) -> None:
    execute(log_dir=tmp_path, model_fn=exporting)
    hook = Signal(signal.SIGTERM, 2)
    with pytest.raises(SystemExit) as caught:
        execute(log_dir=tmp_path, mode=EVAL, model_fn=signalled(hook), max_steps=50)
    assert caught.value.code == 143


def test_the_process_is_as_it_was_after_a_run_and_one_inside_it() -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]

    class Inner(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            execute()

    def hooked(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(Inner(),))

    execute(model_fn=hooked)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == handlers
    assert signal.set_wakeup_fd(-1) == -1
    for thread in threading.enumerate():
        if thread.name == "signals":
            thread.join(30)  # It has been told to end, and does so when it comes to run.
            assert not thread.is_alive()


def test_a_run_in_another_thread_leaves_signals_alone() -> None:
    results = []
    thread = threading.Thread(target=lambda: results.append(execute().global_step))
    thread.start()
    thread.join(timeout=60)
    assert results == [5]


# Each of these programs runs in a process of its own; `runs` is the module beside this one.
TRAIN = """
import sys
from runs import execute, generated, constant

def generator():
    number = 0
    while True:
        yield 1.0
        number += 1
        if number == 20:
            print("RUNNING", flush=True)

execute(log_dir=sys.argv[1], input_fn=generated(generator), max_steps=10**9)
"""

BLOCKED = """
import sys, threading
from moxing import logs
from moxing.engine.run import beside
from runs import execute, generated
logs.reset_logger()
beside.PATIENCE = 60.0

def generator():
    yield from (1.0, 2.0)
    threading.Event().wait()

execute(log_dir=sys.argv[1], input_fn=generated(generator), max_steps=10**9, log_every=1)
"""

EXPORT = """
import sys, time
from moxing.engine import export
from runs import execute, exporting

def write(*arguments):
    print("EXPORTING", flush=True)
    time.sleep(60)

export.write = write
execute(log_dir=sys.argv[1], model_fn=exporting, export=True)
"""

# The last save takes longer than anybody waits.
SAVE = """
import sys, time
from moxing import logs
from moxing.engine.checkpoint.saving.saver import Saver
from runs import execute, numbers
logs.reset_logger()

save = Saver.save

def slow(self, session, step, *rest):
    if step:
        print("SAVING", flush=True)
        time.sleep(60)
    return save(self, session, step, *rest)

Saver.save = slow
execute(log_dir=sys.argv[1], input_fn=numbers(10**9), max_steps=10**9, log_every=10)
"""

# The child is forked while the run has its handlers in place, and killed as Python exits.
WORKER = """
import multiprocessing, sys, time
from runs import execute, generated

def generator():
    fork = multiprocessing.get_context("fork")
    fork.Process(target=time.sleep, args=(600,), daemon=True).start()
    while True:
        yield 1.0

execute(log_dir=sys.argv[1], input_fn=generated(generator), max_steps=30)
print("DONE", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_process_that_trains_saves_and_exits(
    zygote: Zygote, tmp_path: Path, number: int, code: int, times: int
) -> None:
    """Twice at once is once: `timeout` signals a process and then the group it is in."""
    child = zygote.start(TRAIN, tmp_path / "output", tmp_path / "run")
    child.wait_for("RUNNING")
    for _ in range(times):
        child.send(number)
    assert child.code() == code, child.text
    assert not only_step_zero(tmp_path / "run")


@pytest.mark.slow
def test_another_process_can_t_train_in_the_same_directory(zygote: Zygote, tmp_path: Path) -> None:
    child = zygote.start(TRAIN, tmp_path / "output", tmp_path / "run")
    child.wait_for("RUNNING")
    with pytest.raises(MoxRuntimeError) as caught:
        execute(log_dir=tmp_path / "run")
    assert str(caught.value).startswith(
        f"Another run is training in {tmp_path}/run: process {child.pid} on "
    )
    child.send(signal.SIGKILL)
    assert child.code() == -signal.SIGKILL
    assert execute(log_dir=tmp_path / "run", max_steps=1 << 40, input_fn=numbers(3)).steps == 3


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_second_signal_ends_a_process_whose_input_never_comes(
    zygote: Zygote, tmp_path: Path, number: int, code: int
) -> None:
    child = zygote.start(BLOCKED, tmp_path / "output", tmp_path / "run")
    child.wait_for("step: 1(global step: 1)")
    time.sleep(0.5)  # The step after it waits.
    child.send(number)
    child.wait_for(
        f"WARNING:tensorflow:{signal.Signals(number).name}: waiting for this step to end; it"
        " computes, or waits for data of input_fn. Send it again to stop at once."
    )
    child.send(number)
    assert child.code() == code, child.text
    assert only_step_zero(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_wait_for_the_save(
    zygote: Zygote, tmp_path: Path, number: int
) -> None:
    child = zygote.start(SAVE, tmp_path / "output", tmp_path / "run")
    child.wait_for("step: 10(")
    child.send(number)
    child.wait_for("SAVING")
    time.sleep(0.6)
    child.send(number)
    assert child.code() == -number, child.text
    assert only_step_zero(tmp_path / "run")


@pytest.mark.slow
def test_a_signal_during_the_export_is_not_swallowed(zygote: Zygote, tmp_path: Path) -> None:
    child = zygote.start(EXPORT, tmp_path / "output", tmp_path / "run")
    child.wait_for("EXPORTING")
    child.send(signal.SIGTERM)
    assert child.code() == -signal.SIGTERM, child.text
    found = newest(tmp_path / "run")
    assert found is not None
    assert found.step == 5


@pytest.mark.slow
def test_a_forked_worker_ends_when_it_is_told_to(zygote: Zygote, tmp_path: Path) -> None:
    child = zygote.start(WORKER, tmp_path / "output", tmp_path / "run")
    assert child.code() == 0, child.text
    assert "DONE" in child.text


def test_two_signals_right_after_each_other_are_one_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "ONE_REQUEST", 30.0)  # Where the machine is slow, too.

    class Twice(Signal):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            super().after_run(run_context, run_values)
            if not self._steps:
                time.sleep(0.03)
                os.kill(os.getpid(), self._number)

    for count, number in enumerate((signal.SIGTERM, signal.SIGINT)):
        log_dir = tmp_path / str(count)
        with pytest.raises(SystemExit) as caught:
            execute(model_fn=signalled(Twice(number, 3)), log_dir=log_dir, max_steps=50)
        assert caught.value.code == 128 + number
        found = newest(log_dir)
        assert found is not None
        assert found.step == 3


def test_a_stopped_run_says_where_it_stopped(tmp_path: Path, caplog: Any) -> None:
    hook = Signal(signal.SIGTERM, 3)
    with caplog.at_level("INFO", "tensorflow"), pytest.raises(SystemExit):
        execute(model_fn=signalled(hook), log_dir=tmp_path, max_steps=50)
    assert caplog.messages[-1] == (
        f"Stopped by SIGTERM at step 3, which is saved: {tmp_path}/model.ckpt-3. The same command"
        " goes on from there."
    )
