"""Hooks in a run: when they are called, what they fetch, and how they end it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

Run = Callable[..., Any]


class Diary(mox.AggregativeSessionRunHook):
    """Notes each call, fetches what it is told to, and stops after so many steps."""

    def __init__(self, name: str = "", fetches: Any = None, stop_after: int | None = None) -> None:
        super().__init__()
        self.name, self.fetches, self.stop_after = name, fetches, stop_after
        self.calls: list[str] = []
        self.results: list[Any] = []

    def begin(self) -> None:
        self.calls.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        assert isinstance(session, tf.Session)
        assert isinstance(coord, tf.train.Coordinator)
        self.calls.append("session")

    def before_run(self, run_context: Any) -> Any:
        self.calls.append("before")
        return tf.train.SessionRunArgs(self.fetches) if self.fetches is not None else None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.calls.append("after")
        self.results.append(run_values.results)
        if self.stop_after == len(self.results):
            run_context.request_stop()

    def end(self, session: Any) -> None:
        self.calls.append("end")


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL", "PREDICT"])
def test_calls_of_a_hook(mode: str, run: Run, model_with: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path)
    diary = Diary()
    run(
        run_mode=mode,
        model_fn=model_with(hooks=lambda x, loss: [diary]),
        log_dir=tmp_path,
        max_number_of_steps=5 if mode == "TRAIN" else 2,
    )
    assert diary.calls == ["begin", "session", *["before", "after"] * 2, "end"]


def test_hooks_take_turns(run: Run, model_with: Run) -> None:
    calls: list[str] = []

    class Named(Diary):
        def before_run(self, run_context: Any) -> None:
            calls.append(f"before {self.name}")

        def after_run(self, run_context: Any, run_values: Any) -> None:
            calls.append(f"after {self.name}")

    hooks = [Named("a"), Named("b")]
    run(model_fn=model_with(hooks=lambda x, loss: hooks), max_number_of_steps=1)
    assert calls == ["before a", "before b", "after a", "after b"]


def test_fetches_of_every_form(run: Run) -> None:
    diaries: list[Diary] = []

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        count = tf.assign_add(tf.get_local_variable("count", initializer=0.0), 1.0)
        count = tf.identity(count, name="count_up")
        weight = tf.get_variable("w", initializer=1.0)
        for fetches in (count, [count, weight], {"n": count, "w": [weight]}, "count_up:0"):
            diaries.append(Diary(fetches=fetches))
        return mox.ModelSpec(loss=weight * count, hooks=[*diaries, Diary()])

    run(model_fn=model_fn, max_number_of_steps=2)
    single, listed, named, by_name = (diary.results for diary in diaries)
    assert single == [1.0, 2.0]
    assert [values[0] for values in listed] == [1.0, 2.0]
    assert named[0].keys() == {"n", "w"}
    assert named[1]["n"] == 2.0
    assert by_name == [1.0, 2.0]


def test_a_hook_sees_no_results_where_it_fetches_nothing(run: Run, model_with: Run) -> None:
    diary = Diary()
    run(model_fn=model_with(hooks=lambda x, loss: [diary]))
    assert diary.results == [None, None, None]


def test_request_stop_ends_the_run_after_that_step(
    run: Run, model_with: Run, tmp_path: Path
) -> None:
    diary = Diary(stop_after=4)
    result = run(
        model_fn=model_with(hooks=lambda x, loss: [diary]),
        log_dir=tmp_path,
        export_model=True,
        max_number_of_steps=1000,
    )
    assert result.steps == 4
    assert result.checkpoint == f"{tmp_path}/model.ckpt-4"
    assert result.export_dir == f"{tmp_path}/1"
    assert diary.calls[-1] == "end"
    again = run(model_fn=model_with(), log_dir=tmp_path, max_number_of_steps=6)
    assert again.steps == 2


def test_the_coordinator_ends_the_run_too(run: Run, model_with: Run) -> None:
    class Stopping(Diary):
        def after_create_session(self, session: Any, coord: Any) -> None:
            self.coordinator = coord

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.coordinator.request_stop()

    result = run(model_fn=model_with(hooks=lambda x, loss: [Stopping()]), max_number_of_steps=99)
    assert result.steps == 1


def test_a_hook_may_use_the_session(run: Run, model_with: Run) -> None:
    class Reading(Diary):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.results.append(run_context.session.run("steps:0"))

        def end(self, session: Any) -> None:
            self.results.append(session.run("steps:0"))

    diary = Reading()

    def hooks(inputs: Any, loss: Any) -> list[Diary]:
        tf.identity(tf.train.get_global_step(), name="steps")
        return [diary]

    run(model_fn=model_with(hooks=hooks))
    assert diary.results == [1, 2, 3, 3]


def test_begin_may_still_build(run: Run, model_with: Run) -> None:
    class Building(Diary):
        def begin(self) -> None:
            self.fetches = tf.train.get_global_step() + 100

    diary = Building()
    run(model_fn=model_with(hooks=lambda x, loss: [diary]))
    assert len(diary.results) == 3
    assert all(result in (100 + n, 101 + n) for n, result in enumerate(diary.results))


def test_hooks_do_not_change_what_is_trained(run: Run, model_with: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path / "plain")
    run(model_fn=model_with(hooks=lambda x, loss: [Diary(fetches=loss)]), log_dir=tmp_path / "hook")
    plain, hooked = (
        tf.train.load_checkpoint(str(tmp_path / name)).get_tensor("w") for name in ("plain", "hook")
    )
    assert (plain == hooked).all()


def test_hooks_of_the_export_are_not_run(run: Run, model_with: Run, tmp_path: Path) -> None:
    made: list[Diary] = []

    def hooks(inputs: Any, loss: Any) -> list[Diary]:
        made.append(Diary())
        return [made[-1]]

    run(model_fn=model_with(hooks=hooks), log_dir=tmp_path, export_model=True)
    assert len(made) == 2
    assert made[0].calls[-1] == "end"
    assert made[1].calls == []


@pytest.mark.parametrize(("aggregates", "called"), [(True, 3), (False, 6)])
def test_one_hook_stands_for_those_of_all_devices_where_it_may(
    aggregates: bool, called: int, run: Run, model_with: Run
) -> None:
    made: list[Diary] = []

    class Answering(Diary):
        def support_aggregation(self) -> bool:
            return aggregates

    def hooks(inputs: Any, loss: Any) -> list[Diary]:
        made.append(Answering(fetches=loss))
        return [made[-1]]

    mox.set_flag("num_gpus", 2)
    run(model_fn=model_with(hooks=hooks))
    assert sum(len(hook.results) for hook in made) == called


def test_a_hook_that_feeds_and_fetches(run: Run) -> None:
    class Feeding(Diary):
        def before_run(self, run_context: Any) -> Any:
            fed = float(len(self.results))
            return tf.train.SessionRunArgs(self.fetches["value"], {self.fetches["given"]: fed})

    diary = Feeding()

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        given = tf.placeholder(tf.float32, [])
        weight = tf.get_variable("w", initializer=1.0)
        diary.fetches = {"given": given, "value": given * 2.0}
        return mox.ModelSpec(loss=weight * given, hooks=[diary])

    run(model_fn=model_fn)
    assert diary.results == [0.0, 2.0, 4.0]
