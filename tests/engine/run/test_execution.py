"""A run starts where the last one stopped, and ends when it should."""

from __future__ import annotations

import dataclasses
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.checkpoint.restoring.source import locate
from moxing.engine.job.job import Model
from moxing.errors import MoxValueError

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import (  # noqa: E402
    adam,
    execute,
    exported,
    exporting,
    messages,
    model_fn,
    numbers,
    only_step_zero,
    same,
    steps_saved,
    values,
)


def test_a_resumed_run_is_the_uninterrupted_one_to_the_last_bit(tmp_path: Path) -> None:
    whole = execute(log_dir=tmp_path / "whole", max_steps=10, optimizer_fns=[adam])
    execute(log_dir=tmp_path / "parts", max_steps=4, optimizer_fns=[adam])
    parts = execute(log_dir=tmp_path / "parts", max_steps=10, optimizer_fns=[adam])
    assert (parts.global_step, parts.steps, whole.steps) == (10, 6, 10)
    assert same(values(whole.checkpoint), values(parts.checkpoint))
    assert "w/Adam" in values(whole.checkpoint)
    assert not np.array_equal(values(whole.checkpoint)["w"], [0, 0])


def test_log_lines_of_a_run_and_of_the_one_that_resumes_it(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    log_dir = os.fspath(tmp_path)
    execute(log_dir=log_dir, max_steps=4, log_every=2)
    first = messages(log)
    log.clear()
    execute(log_dir=log_dir, max_steps=7, log_every=2)
    assert first == [
        "Running will end at step: 4",
        f"Saving checkpoints for 0 into {log_dir}/model.ckpt.",
        "step: 0(global step: 0)\tloss: 1.000",
        "step: 2(global step: 2)\tloss: 0.518",
        f"Saving checkpoints for 4 into {log_dir}/model.ckpt.",
        f"Trained 4 steps, from global step 0 to 4, T. Checkpoint: {log_dir}/model.ckpt-4."
        f" Summaries: {log_dir}.",
    ]
    assert messages(log) == [
        f"Restoring parameters from {log_dir}/model.ckpt-4",
        "Running will end at step: 7",
        "step: 0(global step: 4)\tloss: 0.051",
        "step: 2(global step: 6)\tloss: 0.066",
        f"Saving checkpoints for 7 into {log_dir}/model.ckpt.",
        f"Trained 3 steps, from global step 4 to 7, T. Checkpoint: {log_dir}/model.ckpt-7."
        f" Summaries: {log_dir}.",
    ]


def test_a_step_that_is_reached_already_is_said_and_nothing_runs(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    execute(log_dir=tmp_path)
    log.clear()

    def never(*arguments: Any) -> Any:
        raise AssertionError("called")

    result = execute(log_dir=tmp_path, input_fn=never, model_fn=never)
    assert messages(log) == [
        f"checkpoint in {tmp_path} is already at step 5 >= max_number_of_steps 5; nothing to train:"
        " raise it or use another log_dir"
    ]
    assert (result.global_step, result.steps) == (5, 0)
    assert result.checkpoint == f"{tmp_path}/model.ckpt-5"


@pytest.mark.parametrize("save_steps", [None, 2, 3])
def test_an_input_that_ended_is_not_read_again(
    tmp_path: Path, log: pytest.LogCaptureFixture, save_steps: int | None
) -> None:
    fields = {"log_dir": tmp_path, "input_fn": numbers(4), "save_steps": save_steps}
    assert execute(max_steps=sys.maxsize, **fields).global_step == 4
    log.clear()
    assert execute(max_steps=sys.maxsize, **fields).steps == 0
    assert messages(log) == [
        f"checkpoint in {tmp_path} is already at step 4, where its input ended; nothing to train:"
        " give more data with another max_number_of_steps, or use another log_dir"
    ]
    assert execute(max_steps=100, **fields).global_step == 8


def test_a_finished_run_still_exports(tmp_path: Path) -> None:
    execute(log_dir=tmp_path, model_fn=exporting)
    result = execute(log_dir=tmp_path, model_fn=exporting, export=True)
    assert result.steps == 0
    assert result.export_dir == f"{tmp_path}/1"
    assert exported(result.export_dir, 2.0) == pytest.approx(6.0 * values(result.checkpoint)["w"])


def test_a_run_whose_input_ended_still_exports(tmp_path: Path) -> None:
    fields = {"log_dir": tmp_path, "input_fn": numbers(4), "max_steps": sys.maxsize}
    execute(**fields, model_fn=exporting)
    result = execute(**fields, model_fn=exporting, export=True)
    assert (result.steps, result.export_dir) == (0, f"{tmp_path}/1")
    assert exported(result.export_dir, 1.0) == pytest.approx(3.0 * values(result.checkpoint)["w"])


def test_weights_past_the_last_step_are_refused_before_anything_is_saved(tmp_path: Path) -> None:
    old = execute(log_dir=tmp_path / "old").checkpoint
    with pytest.raises(MoxValueError) as caught:
        execute(log_dir=tmp_path / "new", checkpoint_path=tmp_path / "old", max_steps=3)
    assert str(caught.value) == (
        f"The checkpoint {old} is at global step 5 already, and max_number_of_steps is 3: there is"
        " nothing to train. Raise max_number_of_steps, or count from 0 with"
        " --checkpoint_exclude_patterns=global_step."
    )
    assert newest(tmp_path / "new") is None
    result = execute(
        log_dir=tmp_path / "new",
        checkpoint_path=tmp_path / "old",
        max_steps=3,
        restore_exclude=("global_step",),
    )
    assert (result.global_step, result.steps) == (3, 3)


def test_the_step_limit_is_the_global_step(tmp_path: Path) -> None:
    result = execute(log_dir=tmp_path, max_steps=3, input_fn=numbers(50))
    assert (result.global_step, result.steps) == (3, 3)
    extra = read_extra(locate(str(result.checkpoint)))
    assert (extra["input_steps"], extra["input_elements"]) == (3, 3)


def test_a_hook_ends_a_run_which_saves_and_exports(tmp_path: Path) -> None:
    class Stop(tf.train.SessionRunHook):
        ended = False

        def begin(self) -> None:
            self._step = tf.train.get_global_step().read_value()

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if run_context.session.run(self._step) == 3:
                run_context.request_stop()

        def end(self, session: Any) -> None:
            self.ended = True

    hook = Stop()

    def hooked(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(exporting(inputs, mode), hooks=(hook,))

    result = execute(log_dir=tmp_path, model_fn=hooked, max_steps=50, export=True)
    assert result.global_step == 3
    assert result.checkpoint == f"{tmp_path}/model.ckpt-3"
    assert result.export_dir == f"{tmp_path}/1"
    assert hook.ended


def test_a_thread_of_a_hook_ends_a_run_by_its_coordinator_and_is_told_of_the_end() -> None:
    class Watch(tf.train.SessionRunHook):
        told = False

        def begin(self) -> None:
            self._step = tf.train.get_global_step().read_value()

        def after_create_session(self, session: Any, coord: Any) -> None:
            def watch() -> None:
                while session.run(self._step) < 2 and not coord.should_stop():
                    pass
                coord.request_stop()
                self.told = coord.wait_for_stop(timeout=10)

            self.thread = threading.Thread(target=watch)
            coord.register_thread(self.thread)
            self.thread.start()

    hook = Watch()

    def hooked(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(hook,))

    result = execute(model_fn=hooked, max_steps=1_000_000)
    assert 2 <= result.global_step < 1_000_000
    assert hook.told
    assert not hook.thread.is_alive()


def test_what_a_thread_of_a_hook_raised_ends_the_run_with_it(tmp_path: Path) -> None:
    class Broken(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            try:
                raise OSError("the monitor is gone")
            except OSError as error:
                coord.request_stop(error)

    def hooked(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(Broken(),))

    with pytest.raises(OSError, match="the monitor is gone"):
        execute(model_fn=hooked, log_dir=tmp_path, max_steps=1 << 40)
    assert only_step_zero(tmp_path)


def test_a_run_without_log_dir_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    result = execute(save_steps=1, summary_every=1)
    assert (result.global_step, result.checkpoint) == (5, None)
    assert os.listdir(tmp_path) == []
    assert steps_saved(log) == []


def test_a_number_that_was_taken_meanwhile_is_not_exported_to(tmp_path: Path) -> None:
    class Taker(tf.train.SessionRunHook):
        def end(self, session: Any) -> None:
            (tmp_path / "1").mkdir()

    def model(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(exporting(inputs, mode), hooks=(Taker(),))

    result = execute(model_fn=model, log_dir=tmp_path, max_steps=2, export=True)
    assert result.export_dir == str(tmp_path / "2")
