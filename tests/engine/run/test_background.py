"""Large checkpoints are written beside the training, and none of them is lost."""

from __future__ import annotations

import dataclasses
import errno
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.checkpoint.saving import copies
from moxing.engine.checkpoint.saving import saver as saver_module
from moxing.engine.job.job import Model
from moxing.engine.loop.finite import NotFiniteError
from moxing.engine.run.background import Background
from moxing.errors import CheckpointError

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import adam, execute, model_fn, same, steps_saved, values  # noqa: E402

SECONDS = 60.0  # Until a thread that does not come counts as lost.


@pytest.fixture(autouse=True)
def _copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "LEAST", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="priorities are those of whole processes")
def test_a_write_leaves_the_processors_to_the_training() -> None:
    def nice() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    found: dict[str, int] = {}

    def write() -> None:
        found["write"] = nice()
        inner = threading.Thread(target=lambda: found.update(inner=nice()))
        inner.start()
        inner.join(SECONDS)

    background, before = Background(), nice()
    background.start("of step 1", write)
    background.wait()
    assert nice() == before
    assert found == {"write": min(before + 5, 19), "inner": min(before + 5, 19)}


class _At(tf.train.SessionRunHook):
    """Calls a function after a step."""

    def __init__(self, step: int, function: Callable[[], None]) -> None:
        self._step, self._function = step, function

    def after_run(self, run_context: Any, run_values: Any) -> None:
        del run_context, run_values
        self._step -= 1
        if self._step == 0:
            self._function()


def _hooked(step: int, function: Callable[[], None]) -> Callable[..., Model]:
    def model(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(_At(step, function),))

    return model


def _threads(monkeypatch: pytest.MonkeyPatch, before: Callable[[str], None]) -> None:
    """Calls `before` with the final prefix before each commit."""
    commit = saver_module.commit

    def call(staged: str, final: str, record: Any) -> None:
        before(final)
        commit(staged, final, record)

    monkeypatch.setattr(saver_module, "commit", call)


def test_steps_go_on_while_a_checkpoint_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture
) -> None:
    reached, where = threading.Event(), {}

    def hold(final: str) -> None:
        where[os.path.basename(final)] = threading.current_thread() is threading.main_thread()
        if final.endswith("-2"):
            assert reached.wait(SECONDS), "the steps stood still"
            assert not os.path.exists(final + ".index")

    _threads(monkeypatch, hold)
    options: dict[str, Any] = {"max_steps": 6, "save_steps": 2, "save_secs": None}
    beside = execute(
        log_dir=tmp_path / "beside",
        model_fn=_hooked(4, reached.set),
        optimizer_fns=[adam],
        **options,
    )
    assert where == {f"model.ckpt-{step}": step == 0 for step in (0, 2, 4, 6)}
    assert steps_saved(log) == [0, 2, 4, 6]
    where.clear()
    before = execute(log_dir=tmp_path / "before", in_step=True, optimizer_fns=[adam], **options)
    assert all(where.values())
    for step in (2, 4, 6):
        found = [values(f"{tmp_path}/{name}/model.ckpt-{step}") for name in ("beside", "before")]
        assert same(*found)
        records = [
            read_extra(Checkpoint(f"{tmp_path}/{name}/model.ckpt-{step}", step))
            for name in ("beside", "before")
        ]
        assert records[0] == records[1]
    assert beside.checkpoint == f"{tmp_path}/beside/model.ckpt-6"
    assert before.checkpoint == f"{tmp_path}/before/model.ckpt-6"


def test_a_write_that_fails_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(final: str) -> None:
        if final.endswith("-2"):
            raise OSError(errno.ENOSPC, "No space left on device")

    _threads(monkeypatch, full)
    with pytest.raises(CheckpointError, match=r"Could not save checkpoint .*model.ckpt-2: .Errno"):
        execute(log_dir=tmp_path, max_steps=50, save_steps=2, save_secs=None)
    found = newest(tmp_path)
    assert found is not None
    assert found.step == 0
    assert not list(tmp_path.glob(".mox-tmp-*"))
    assert execute(log_dir=tmp_path, max_steps=3).global_step == 3


def test_values_that_are_not_finite_end_the_run_and_are_not_committed(tmp_path: Path) -> None:
    def spoiling(inputs: Any, mode: str) -> Model:
        model, step = model_fn(inputs, mode), tf.train.get_global_step()
        spoiled = tf.get_variable("spoiled", initializer=1.0, trainable=False)
        value = tf.where(step < 3, 1.0, float("nan"))
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, spoiled.assign(value, read_value=False))
        return model

    with pytest.raises(NotFiniteError, match="global step 4 the variable spoiled holds nan") as e:
        execute(log_dir=tmp_path, max_steps=50, save_steps=2, save_secs=None, model_fn=spoiling)
    assert f"The last checkpoint is {tmp_path}/model.ckpt-2." in str(e.value)
    found = newest(tmp_path)
    assert found is not None
    assert found.step == 2
    assert not list(tmp_path.glob("*ckpt-4*"))


def test_a_run_that_fails_finishes_its_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = threading.Event()

    def hold(final: str) -> None:
        if final.endswith("-2"):
            assert reached.wait(SECONDS), "the steps stood still"

    def fail() -> None:
        reached.set()
        raise RuntimeError("a hook failed")

    _threads(monkeypatch, hold)
    with pytest.raises(RuntimeError, match="a hook failed"):
        execute(
            log_dir=tmp_path, max_steps=9, save_steps=2, save_secs=None, model_fn=_hooked(3, fail)
        )
    found = newest(tmp_path)
    assert found is not None
    assert found.step == 2


def test_a_wait_for_a_write_has_a_limit() -> None:
    ends = threading.Event()
    background = Background(limit=0.01)

    def write() -> None:
        ends.wait(SECONDS)

    background.start("of step 7", write)
    for _ in range(2):
        with pytest.raises(CheckpointError, match="Checkpoint of step 7 was not written within 0"):
            background.wait()
    ends.set()
