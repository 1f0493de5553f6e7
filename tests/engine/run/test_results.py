"""Evaluations, predictions and exports are of the whole data and of the right weights."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.job.job import EVAL, PREDICT, Model
from moxing.errors import ExportExistsError

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import (  # noqa: E402
    execute,
    exported,
    exporting,
    messages,
    numbers,
    values,
)


def state(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in directory.iterdir()}


@pytest.mark.parametrize("mode", [EVAL, PREDICT])
def test_other_modes_leave_step_and_checkpoints_alone(tmp_path: Path, mode: str) -> None:
    execute(log_dir=tmp_path)
    before = state(tmp_path)
    result = execute(log_dir=tmp_path, mode=mode, max_steps=9, save_steps=1, summary_every=1)
    assert (result.global_step, result.steps) == (5, 9)
    assert result.checkpoint == f"{tmp_path}/model.ckpt-5"
    after = state(tmp_path)
    changed = {name for name in after if after[name] != before.get(name)}
    assert after.keys() == before.keys()
    assert changed == ({"metrics.jsonl", "report.html"} if mode == EVAL else set())


def test_the_mean_of_an_evaluation_is_over_samples(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    execute(log_dir=tmp_path)
    log.clear()

    def mean_of_batch(inputs: Any, mode: str) -> Model:
        tf.get_variable("w", [2])
        return Model(log={"mean": tf.reduce_mean(inputs[0])})

    result = execute(
        log_dir=tmp_path,
        mode=EVAL,
        input_fn=numbers(10),
        model_fn=mean_of_batch,
        batch_size=4,
        make_batches=True,
        max_steps=sys.maxsize,
        log_every=1,
    )
    assert result.metrics == {"mean": 4.5}
    assert result.steps == 3
    assert messages(log) == [
        f"Restoring parameters from {tmp_path}/model.ckpt-5",
        "mean: 1.500\t[4 examples]",
        "mean: 5.500\t[8 examples]",
        "mean: 8.500\t[10 examples]",
        "Evaluated 10 samples in 3 batches at global step 5 T, mean over all:\tmean: 4.500",
    ]


def test_elements_without_a_dimension_are_one_example_each(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    execute(log_dir=tmp_path)
    log.clear()
    execute(log_dir=tmp_path, mode=EVAL, input_fn=numbers(5), max_steps=sys.maxsize, log_every=2)
    counts = [line.split("\t")[-1] for line in messages(log) if line.startswith("loss: ")]
    assert counts == ["[1 examples]", "[3 examples]", "[5 examples]"]


@pytest.mark.parametrize("logged", ["update", "both"])
def test_streaming_metrics_are_not_averaged_again(tmp_path: Path, logged: str) -> None:
    """The last batch is short, and both the mean and the count would come out wrong."""
    execute(log_dir=tmp_path)

    def streaming(inputs: Any, mode: str) -> Model:
        tf.get_variable("w", [2])
        mean, update_mean = tf.metrics.mean(inputs[0])
        count, update_count = tf.metrics.true_positives(inputs[0] >= 0, inputs[0] >= 2)
        log = {"update_mean": update_mean, "update_count": update_count}
        if logged == "both":
            log |= {"mean": mean, "count": count}
        return Model(log={**log, "half": tf.reduce_mean(inputs[0]) / 2})

    result = execute(
        log_dir=tmp_path,
        mode=EVAL,
        input_fn=numbers(10),
        model_fn=streaming,
        batch_size=4,
        make_batches=True,
        max_steps=sys.maxsize,
    )
    expected = {"update_mean": 4.5, "update_count": 8.0, "half": 2.25}
    if logged == "both":
        expected |= {"mean": 4.5, "count": 8.0}
    assert result.metrics == expected


def test_predictions_reach_output_fn_in_order_and_none_is_lost(tmp_path: Path) -> None:
    execute(log_dir=tmp_path)
    calls: list[list[list[float]]] = []
    execute(
        log_dir=tmp_path,
        mode=PREDICT,
        input_fn=numbers(10),
        batch_size=2,
        make_batches=True,
        max_steps=sys.maxsize,
        output_fn=lambda outputs: calls.append([step["x"].tolist() for step in outputs]),
        output_every=2,
    )
    assert calls == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9]]]


@pytest.mark.parametrize("mode", ["TRAIN", EVAL])
def test_an_export_holds_the_weights_of_the_checkpoint(tmp_path: Path, mode: str) -> None:
    trained = execute(log_dir=tmp_path, model_fn=exporting, export=mode == "TRAIN")
    if mode == EVAL:
        trained = execute(log_dir=tmp_path, model_fn=exporting, mode=EVAL, max_steps=2, export=True)
    assert trained.export_dir == f"{tmp_path}/1"
    assert exported(trained.export_dir, 1.0) == pytest.approx(3.0 * values(trained.checkpoint)["w"])


def test_an_evaluation_without_log_dir_files_exports_into_a_new_directory(tmp_path: Path) -> None:
    execute(log_dir=tmp_path / "old", model_fn=exporting)
    result = execute(
        log_dir=tmp_path / "new" / "deep",
        checkpoint_path=tmp_path / "old",
        model_fn=exporting,
        mode=EVAL,
        export=True,
    )
    assert result.export_dir == f"{tmp_path}/new/deep/1"
    assert sorted(os.listdir(tmp_path / "new" / "deep")) == ["1", "metrics.jsonl", "report.html"]


def test_a_finished_run_whose_export_exists_is_no_error(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    def named(inputs: Any, mode: str) -> Model:
        model = exporting(inputs, mode)
        assert model.export is not None
        return dataclasses.replace(model, export=dataclasses.replace(model.export, version="own"))

    options: dict[str, Any] = {"log_dir": tmp_path, "model_fn": named, "export": True}
    execute(max_steps=2, **options)
    log.clear()
    assert execute(max_steps=2, **options).global_step == 2
    said = messages(log)
    assert said[-2].startswith(f"checkpoint in {tmp_path} is already at step 2 >= ")
    assert said[-1].startswith(f"Its export is in {tmp_path} already.")
    with pytest.raises(ExportExistsError, match="Export directory already exists"):
        execute(max_steps=3, **options)


def test_the_first_lines_say_where_a_run_saves_and_that_it_has_no_end(
    tmp_path: Path, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    execute(log_dir="out", max_steps=sys.maxsize, input_fn=numbers(3))
    said = messages(log)
    assert said.count(f"log_dir 'out' is {tmp_path}/out") == 1
    assert "Running will end where its data ends, or when it is stopped." in said
