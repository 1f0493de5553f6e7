"""Runs are found below folders, and told apart by how they ended."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from left_records import write

import moxing.tensorflow as mox
from moxing.errors import MoxValueError
from moxing.runs import found


def test_runs_are_found_at_any_depth_but_not_in_hidden_folders(tmp_path: Path) -> None:
    write(tmp_path / "b", {0: 1.0})
    write(tmp_path / "a" / "deep" / "er", {0: 1.0, 10: 0.5})
    write(tmp_path / ".hidden" / "run", {0: 1.0})
    (tmp_path / "no_run").mkdir()

    runs = found.find([str(tmp_path), str(tmp_path / "b")])

    assert {Path(run.path).name: run.step for run in runs} == {"b": 0, "er": 10}


def test_a_search_that_takes_too_long_ends_and_says_where(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "a", {0: 1.0})
    write(tmp_path / "a" / "b", {0: 1.0})

    runs = found.find([str(tmp_path / "a")], seconds=-1.0)

    assert [Path(run.path).name for run in runs] == ["a"]
    assert f"ended at {str(tmp_path / 'a')!r}, its folder number 1" in caplog.text


def test_folders_of_the_kernel_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def walk(root: str) -> Iterator[tuple[str, list[str], list[str]]]:
        below = ["proc", "home", "sys"]
        yield root, below, []
        seen.extend(below)

    monkeypatch.setattr(found.mox_file, "walk", walk)

    assert found.find(["/"]) == []
    assert seen == ["home"]


def test_last_values_are_those_of_training_and_of_evaluations(tmp_path: Path) -> None:
    path = write(tmp_path / "run", {0: 3.0, 10: 2.0}, evaluated={"loss": 2.5, "accuracy": 0.75})

    run = found.read(str(path))

    assert run.values == {"loss": 2.0, "eval loss": 2.5, "accuracy": 0.75}
    assert run.end == "finished"  # The evaluation came after the end of the training.


@pytest.mark.parametrize("end", ["finished", "failed", "stopped by SIGTERM"])
def test_the_end_is_what_the_run_said(tmp_path: Path, end: str) -> None:
    assert found.read(str(write(tmp_path / "run", {0: 1.0}, end=end))).end == end


def test_a_killed_run_was_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path / "run", {0: 1.0}, end=None)

    assert found.read(str(path)).end == found.CUT_OFF


def test_a_later_run_that_was_killed_does_not_end_as_the_earlier_one_did(tmp_path: Path) -> None:
    path = write(tmp_path / "run", {0: 1.0})
    later = write(tmp_path / "later", {10: 0.5}, end=None, at=time.time() - 1000)
    with open(path / "metrics.jsonl", "ab") as stream:
        stream.write((later / "metrics.jsonl").read_bytes())

    assert found.read(str(path)).end == found.CUT_OFF


def test_a_run_whose_lock_is_held_is_running(tmp_path: Path) -> None:
    path = write(tmp_path / "run", {0: 1.0}, end=None)
    with open(path / ".mox.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert found.read(str(path)).end == found.RUNNING
    assert found.read(str(path)).end == found.CUT_OFF


def test_a_run_of_another_machine_is_running_while_it_logs(tmp_path: Path) -> None:
    path = write(tmp_path / "run", {0: 1.0}, end=None, at=time.time() - 5)

    assert found.read(str(path)).end == found.RUNNING


def test_a_folder_of_evaluations_alone_was_evaluated(tmp_path: Path) -> None:
    path = write(tmp_path / "run", end=None, evaluated={"accuracy": 0.5})

    assert found.read(str(path)).end == found.EVALUATED


@pytest.mark.parametrize("content", ["", "[]", "{", '{"format": 1, "job": 3}', "[" * 100_000])
def test_a_damaged_run_json_hides_nothing_else(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "run", {0: 1.0, 5: 0.25}, end=None)
    (path / "run.json").write_text(content)

    run = found.read(str(path))

    assert (run.step, run.values, run.settings) == (5, {"loss": 0.25}, {})


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(MoxValueError, match="holds no records of a run"):
        found.read(str(tmp_path))
    with pytest.raises(MoxValueError, match="There is no folder"):
        found.find([str(tmp_path / "nowhere")])


def test_a_real_run_is_read(tmp_path: Path) -> None:
    def input_fn(mode: str) -> tf.data.Dataset:
        del mode
        return tf.data.Dataset.from_tensors(np.ones([2, 3], np.float32)).repeat()

    def model_fn(inputs: list[tf.Tensor], mode: str) -> mox.ModelSpec:
        del mode
        weights = tf.get_variable("weights", [3, 1])
        loss = tf.reduce_mean(tf.square(inputs[0] @ weights))
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", 0.01),
        run_mode=mox.ModeKeys.TRAIN,
        log_dir=str(tmp_path / "run"),
        max_number_of_steps=4,
        log_every_n_steps=2,
    )

    run = found.read(str(tmp_path / "run"))

    assert (run.step, run.end) == (4, "finished")
    assert set(run.values) == {"loss"}
    assert run.settings["max_steps"] == 4
