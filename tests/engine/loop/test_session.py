"""A session ends with its run, whatever the user's input is doing then."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph.hardware import Machine
from moxing.engine.loop import session
from moxing.engine.process import stacks
from moxing.engine.process.solo import Solo

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, generated, make_job, messages, model_fn, once  # noqa: E402


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Something that code of an input waits for, and gets when the test is over."""
    event = threading.Event()
    yield event
    event.set()
    for thread in threading.enumerate():
        if "QueueRunner" in thread.name or thread.name == "close session":
            thread.join(timeout=30)


def blocked_generator(release: threading.Event) -> Any:
    def generator() -> Iterator[float]:
        yield from (1.0, 2.0, 3.0)
        release.wait()

    return generated(generator)


def blocked_queue(release: threading.Event) -> Any:
    taken = []

    def take() -> np.float32:
        taken.append(1)
        if len(taken) > 4:
            release.wait()
        return np.float32(1)

    def input_fn(mode: str) -> Any:
        number = tf.py_func(take, [], tf.float32)
        number.set_shape([])
        return tf.train.batch([number], 1, capacity=2)

    return input_fn


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("make", [blocked_generator, blocked_queue])
def test_an_input_that_waits_forever_does_not_keep_a_run_that_is_done(
    make: Any,
    release: threading.Event,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    log: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(session, "_END_SECONDS", 1.0)
    started = time.monotonic()
    result = execute(input_fn=make(release), max_steps=3, log_dir=tmp_path)
    assert time.monotonic() - started < 200
    assert result.checkpoint == f"{tmp_path}/model.ckpt-3"
    lines = [line for line in messages(log) if "still runs" in line]
    assert len(lines) == 1
    assert lines[0].startswith(
        "input_fn still runs 1 seconds after the last step; going on without it. It is in "
        f"{__file__}:"
    )
    assert lines[0].endswith(
        ": release.wait(). Look in its generator, py_func or queue for a wait without a limit."
    )


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("calls", ["none", "ended", "running"])
def test_a_slow_end_is_waited_for_and_blamed_on_input_fn_only_while_its_python_code_runs(
    calls: str,
    release: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    log: pytest.LogCaptureFixture,
) -> None:
    """A session waits for TensorFlow's own threads too, which may sleep for minutes."""
    monkeypatch.setattr(session, "_END_SECONDS", 2.0 if calls == "running" else 60.0)
    runs = threading.Event()

    def take() -> float:
        if runs.is_set():
            release.wait()
        return 1.0

    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default() as graph:
        number = tf.constant(1.0) if calls == "none" else tf.py_func(take, [], tf.double)
        opened = tf.Session(server.target, graph=graph)
        assert opened.run(number) == 1.0
    if calls == "running":
        runs.set()
        threading.Thread(target=opened.run, args=(number,), daemon=True).start()
        while not stacks.in_input():
            time.sleep(0.01)
    close = opened.close

    def late() -> None:
        release.wait()
        close()

    opened.close = late

    began = time.monotonic()
    assert session._end(opened, tf.train.Coordinator(), (), Solo()) is None

    assert not release.is_set()  # It did not wait for the end.
    assert time.monotonic() - began < 30
    assert sum("still runs" in line for line in messages(log)) == (calls == "running")


def queued(mode: str) -> Any:
    number = once(tf.data.Dataset.range(100)).get_next()
    return tf.train.batch([tf.cast(number, tf.float32)], 2)


@pytest.mark.parametrize("fails", [False, True])
def test_queue_runners_and_session_end_with_the_run(fails: bool) -> None:
    opened = []

    class Look(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            opened.append(run_context.session)
            assert any("QueueRunner" in thread.name for thread in threading.enumerate())
            if fails:
                raise OSError("gone")

    def hooked(inputs: Any, mode: str) -> Any:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(Look(),))

    if fails:
        with pytest.raises(OSError, match="gone"):
            execute(input_fn=queued, model_fn=hooked)
    else:
        execute(input_fn=queued, model_fn=hooked)
    assert not any("QueueRunner" in thread.name for thread in threading.enumerate())
    with pytest.raises(RuntimeError, match="closed Session"):
        opened[0].run("global_step/Initializer/zeros:0")


def test_the_session_and_its_graph_are_the_default_of_hooks() -> None:
    seen = []

    class Look(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            seen.append(tf.get_default_session() is session)
            seen.append(tf.get_default_graph() is session.graph)

    def hooked(inputs: Any, mode: str) -> Any:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(Look(),))

    execute(model_fn=hooked)
    assert seen == [True, True]
    assert tf.get_default_session() is None


@pytest.mark.parametrize("gpu", [True, False])
def test_xla_compiles_where_there_is_a_gpu(gpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.devices, "has_gpu", lambda: gpu)
    monkeypatch.setattr(session.devices, "machine", lambda: Machine(gpus=int(gpu), cores=2))
    config = session._config(make_job(), tf.Graph(), Solo())
    level = config.graph_options.optimizer_options.global_jit_level
    assert level == (tf.OptimizerOptions.ON_1 if gpu else tf.OptimizerOptions.DEFAULT)
    assert bool(config.experimental.executor_type) == (not gpu)
