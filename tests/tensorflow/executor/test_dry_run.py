"""`--dry_run`: a step of everything that a program does, and nothing left behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing import flags
from moxing.cluster.cluster import Cluster
from moxing.engine.job.job import TRAIN, Data, Job, Model
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.run import rehearsed
from moxing.errors import MoxNotSupportedError, MoxRuntimeError
from moxing.flags import rehearsal

Run = Callable[..., Any]
Said = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def dry() -> Iterator[None]:
    with flags.overridden(dry_run=True):
        yield


def test_a_training_saves_restores_and_exports_elsewhere(
    run: Run, said: Said, tmp_path: Path
) -> None:
    taken: list[int] = []
    result = run(
        log_dir=tmp_path / "log",
        max_number_of_steps=1000,
        export_model=mox.ExportKeys.TF_SERVING,
        output_fn=lambda outputs: taken.append(len(outputs)),
        output_every_n_steps=500,
    )
    assert not (tmp_path / "log").exists()
    assert (result.steps, result.global_step) == (1, 2)
    assert taken == [1, 1]
    assert os.path.isfile(os.path.join(result.export_dir, "saved_model.pb"))
    inputs, checkpoint, memory, _ = said("Dry run")
    assert inputs.endswith("in TRAIN has input 0 float32 (4, 3), input 1 int32 (4,).")
    assert "the checkpoint takes" in checkpoint
    assert "6 numbers in 1 trainable variables, 24 bytes" in memory
    assert said()[-1] == (
        "Dry run of TRAIN passed: trained one step, saved, restored, trained one more step,"
        f" exported a model. Nothing was written to {tmp_path}/log."
    )


def test_an_evaluation_takes_the_checkpoint_of_the_dry_training(
    run: Run, said: Said, tmp_path: Path
) -> None:
    run(log_dir=tmp_path)
    result = run(log_dir=tmp_path, run_mode=mox.ModeKeys.EVAL, max_number_of_steps=50)
    assert (result.global_step, result.steps) == (2, 1)
    by_path = run(checkpoint_path=str(tmp_path / "model.ckpt-1000"), run_mode=mox.ModeKeys.PREDICT)
    assert (by_path.global_step, by_path.steps) == (2, 1)
    assert said()[-1] == "Dry run of PREDICT passed: one batch."
    assert os.listdir(tmp_path) == []


def test_an_evaluation_alone_reads_the_real_checkpoint_and_leaves_it(
    run: Run, tmp_path: Path
) -> None:
    with flags.overridden(dry_run=False):
        run(log_dir=tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    result = run(log_dir=tmp_path, run_mode=mox.ModeKeys.EVAL, max_number_of_steps=50)
    assert (result.global_step, result.steps) == (3, 1)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_hooks_evaluate_one_batch(
    run: Run, model_with: Callable[..., Any], said: Said, tmp_path: Path
) -> None:
    hooked = model_with(
        hooks=lambda _, loss: [mox.LogEvaluationMetricHook({"loss": loss}, 4, 50000, 10000)]
    )
    plain = model_with()
    run(
        log_dir=tmp_path,
        model_fn=lambda inputs, mode: (hooked if mode == "EVAL" else plain)(inputs, mode),
        inter_mode=mox.ModeKeys.EVAL,
    )
    lines = [line for line in said("[VALIDATION METRICS]") if "loss" in line]
    assert len(lines) == 2


def test_a_part_that_fails_is_an_error(
    run: Run, model_with: Callable[..., Any], tmp_path: Path
) -> None:
    def model_fn(inputs: list[tf.Tensor], mode: str) -> mox.ModelSpec:
        if mode == mox.ModeKeys.EXPORT:
            raise MoxRuntimeError("no export of this model")
        return model_with()(inputs, mode)

    with pytest.raises(MoxRuntimeError, match="no export of this model"):
        run(model_fn=model_fn, log_dir=tmp_path / "log", export_model=mox.ExportKeys.TF_SERVING)
    assert os.listdir(tmp_path) == []


def test_a_cluster_is_refused() -> None:
    group = ProcessGroup(Cluster(("a:1", "b:1")))
    job = Job(TRAIN, Data(lambda _: None), lambda *_: Model(), placement=Placement(group))
    with pytest.raises(MoxNotSupportedError, match="--dry_run is for one process"):
        rehearsed.rehearse(lambda: job)


def test_searches_refuse_it() -> None:
    with pytest.raises(MoxNotSupportedError, match=r"not for mox\.auto\.search: pass a small"):
        rehearsal.refuse("mox.auto.search", "pass a small total_steps")


def test_a_program_that_never_runs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "_read", [])
    monkeypatch.setattr(rehearsal, "_programs", [])
    assert rehearsal.unread()
    assert rehearsal.wanted()
    assert not rehearsal.unread()
