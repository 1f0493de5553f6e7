"""Saves, log lines, summaries and outputs come at the steps where they are due."""

from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.job.job import EVAL, PREDICT, Model
from moxing.engine.loop import saves, step_log

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, messages, model_fn, numbers, steps_saved  # noqa: E402


class Clock:
    """A time that goes on ten seconds with every step, and a hundred with every save."""

    perf_counter = staticmethod(time.perf_counter)

    def __init__(self) -> None:
        self.now = 5000.0

    def monotonic(self) -> float:
        return self.now


class Tick(tf.train.SessionRunHook):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._clock.now += 10


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(saves, "time", made)
    return made


def ticking(clock: Clock) -> Any:
    return lambda inputs, mode: dataclasses.replace(model_fn(inputs, mode), hooks=(Tick(clock),))


@pytest.mark.parametrize("save_steps", [None, 1])
def test_seconds_between_saves_and_seconds_win(
    tmp_path: Path, clock: Clock, log: pytest.LogCaptureFixture, save_steps: int | None
) -> None:
    fields = {"log_dir": tmp_path, "model_fn": ticking(clock)}
    execute(**fields, max_steps=10, save_secs=25.0, save_steps=save_steps)
    assert steps_saved(log) == [0, 3, 6, 9, 10]


def test_the_time_that_a_save_takes_does_not_count(
    tmp_path: Path,
    clock: Clock,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from moxing.engine.checkpoint.saving.saver import Saver

    save = Saver.save

    def slow(self: Saver, *arguments: Any) -> Any:
        clock.now += 100
        return save(self, *arguments)

    monkeypatch.setattr(Saver, "save", slow)
    execute(log_dir=tmp_path, model_fn=ticking(clock), max_steps=7, save_secs=25.0)
    assert steps_saved(log) == [0, 3, 6, 7]


def test_steps_between_saves_are_global_steps(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    execute(log_dir=tmp_path, max_steps=5, save_steps=2)
    assert steps_saved(log) == [0, 2, 4, 5]
    log.clear()
    execute(log_dir=tmp_path, max_steps=9, save_steps=2)
    assert steps_saved(log) == [6, 8, 9]


def test_without_a_schedule_the_first_and_last_step_are_saved(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    execute(log_dir=tmp_path, max_steps=30)
    assert steps_saved(log) == [0, 30]


def test_a_last_step_that_was_due_is_saved_once(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    execute(log_dir=tmp_path, max_steps=4, save_steps=2)
    assert steps_saved(log) == [0, 2, 4]


@pytest.mark.parametrize(("mode", "prefix"), [("TRAIN", "step: "), (EVAL, "loss: ")])
def test_log_lines_count_the_steps_of_this_run(
    tmp_path: Path, log: pytest.LogCaptureFixture, mode: str, prefix: str
) -> None:
    execute(log_dir=tmp_path, max_steps=3)
    log.clear()
    execute(log_dir=tmp_path, mode=mode, max_steps=3 + 7 if mode == "TRAIN" else 7, log_every=3)
    lines = [line.split("\t")[0] for line in messages(log) if line.startswith(prefix)]
    if mode == "TRAIN":
        steps = [(0, 3), (3, 6), (6, 9)]
        assert lines == [f"step: {step}(global step: {whole})" for step, whole in steps]
    else:
        assert len(lines) == 3


@pytest.mark.parametrize("limit", [0.0, 3600.0])
def test_a_long_first_step_says_how_it_spent_its_time(
    tmp_path: Path, log: pytest.LogCaptureFixture, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_log, "_LONG_START", limit)
    execute(log_dir=tmp_path, max_steps=3, log_every=1)
    said = [line for line in messages(log) if line.startswith(("step: ", "The first step took"))]
    starts = ["step: 0(", "The first step took ", "step: 1(", "step: 2("]
    expected = starts if not limit else [start for start in starts if start.startswith("step")]
    assert len(said) == len(expected)
    assert all(line.startswith(start) for line, start in zip(said, expected, strict=True))


def events(log_dir: Path) -> list[tuple[int, str, float]]:
    """Step, tag and value of every summary, in the order of the files' names."""
    found = []
    for path in sorted(log_dir.glob("events.*"), key=lambda path: int(path.name.split(".")[-1])):
        for event in tf.train.summary_iterator(str(path)):
            for value in event.summary.value:
                found.append((event.step, value.tag, value.simple_value))
    return found


def summarizing(inputs: Any, mode: str) -> Model:
    tf.summary.scalar("x", tf.reduce_mean(inputs[0]))
    return model_fn(inputs, mode)


def test_summaries_come_at_global_steps_with_the_values_of_the_step(tmp_path: Path) -> None:
    fields = {"log_dir": tmp_path, "model_fn": summarizing, "input_fn": numbers(50)}
    execute(**fields, max_steps=5, summary_every=2, automatic_summaries=True)
    execute(**fields, max_steps=8, summary_every=2)
    found = events(tmp_path)
    assert [(step, value) for step, tag, value in found if tag == "x"] == [
        (0, 0),
        (2, 2),
        (4, 4),
        (6, 6),
    ]
    losses = [step for step, tag, _ in found if tag == "loss"]
    assert len(losses) == len(set(losses))
    assert {0, 2, 4} <= set(losses)
    assert [step for step, tag, _ in found if tag == "global_step/sec"] == [2, 4, 7]


def test_outputs_come_in_lists_of_the_asked_length_and_a_rest() -> None:
    calls: list[list[float]] = []

    def output_fn(outputs: list[dict[str, Any]]) -> None:
        calls.append([float(step["x"]) for step in outputs])

    execute(input_fn=numbers(50), max_steps=5, output_fn=output_fn, output_every=2)
    assert calls == [[0, 1], [2, 3], [4]]


def test_an_error_in_output_fn_names_it_and_the_step(tmp_path: Path) -> None:
    def output_fn(outputs: list[dict[str, Any]]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        execute(max_steps=5, output_fn=output_fn, output_every=3)
    line = output_fn.__code__.co_firstlineno
    assert caught.value.__notes__ == [
        f"openmox: raised while calling output_fn (test_step_loop.py:{line}),"
        " after step 2 of TRAIN",
        "openmox: raised in step 2 (global step 2) of TRAIN.",
    ]


@pytest.mark.parametrize("mode", [EVAL, PREDICT])
def test_other_modes_end_after_that_many_steps_or_with_the_data(tmp_path: Path, mode: str) -> None:
    execute(log_dir=tmp_path, max_steps=3)
    fields = {"log_dir": tmp_path, "mode": mode, "input_fn": numbers(4)}
    assert execute(**fields, max_steps=2).steps == 2
    assert execute(**fields, max_steps=sys.maxsize).steps == 4


def test_an_error_outside_of_training_names_mode_and_step_of_the_model(tmp_path: Path) -> None:
    execute(log_dir=tmp_path, max_steps=3)

    class Broken(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            raise OSError("gone")

    def broken(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(Broken(),))

    with pytest.raises(OSError, match="gone") as caught:
        execute(log_dir=tmp_path, mode=EVAL, model_fn=broken)
    assert caught.value.__notes__[-1] == "openmox: raised in step 0 (global step 3) of EVAL."
