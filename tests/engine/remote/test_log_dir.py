"""A `log_dir` in a store is to a run what one on the disk is."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import runs
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.job.job import EVAL
from moxing.engine.remote import fetch
from moxing.engine.remote.path_alias import standing
from moxing.errors import CheckpointError, ExportExistsError, MoxRuntimeError
from moxing.framework import file


def brought(url: str, tmp_path: Path) -> Path:
    """A copy of a directory of the store, as a user makes one."""
    target = tmp_path / "brought"
    file.copy_parallel(url, target)
    return target


def names(url: str) -> set[str]:
    return set(file.list_directory(url, recursive=True, skip_dir=True))


def test_everything_of_a_run_is_in_the_store_when_it_ends(
    bucket: str, tmp_path: Path, cache_dir: Path, log: Any
) -> None:
    result = runs.execute(log_dir=f"{bucket}/out", model_fn=runs.exporting, export=True)
    local = runs.execute(log_dir=tmp_path / "out", model_fn=runs.exporting, export=True)

    assert result.checkpoint == f"{bucket}/out/model.ckpt-5"
    assert result.export_dir == f"{bucket}/out/1"
    copy = brought(f"{bucket}/out", tmp_path)
    assert newest(copy) == Checkpoint(str(copy / "model.ckpt-5"), 5)
    assert runs.same(runs.values(str(copy / "model.ckpt-5")), runs.values(local.checkpoint))
    assert runs.exported(str(copy / "1"), 2.0) == pytest.approx(
        runs.exported(local.export_dir, 2.0)
    )
    visible = {n for n in os.listdir(tmp_path / "out") if n[0] != "." and "tfevents" not in n}
    assert {n for n in os.listdir(copy) if "tfevents" not in n} == visible
    events = next(copy.glob("events.out.tfevents.*"))
    assert [e.step for e in tf.train.summary_iterator(str(events)) if e.HasField("session_log")]
    assert not list(cache_dir.iterdir())
    assert f"Saving checkpoints for 5 into {bucket}/out/model.ckpt." in runs.messages(log)
    assert not [line for line in runs.messages(log) if str(cache_dir) in line]
    assert not [line for line in runs.messages(log) if "unfinished" in line]


def test_resuming_evaluating_and_warm_starts_read_the_store(bucket: str, log: Any) -> None:
    runs.execute(log_dir=f"{bucket}/out", max_steps=5)
    result = runs.execute(log_dir=f"{bucket}/out", max_steps=8, save_steps=1)
    assert (result.steps, result.global_step) == (3, 8)
    through = runs.execute(max_steps=8).metrics["loss"]
    assert result.metrics["loss"] != through

    evaluated = runs.execute(log_dir=f"{bucket}/out", mode=EVAL, max_steps=2)
    assert (evaluated.global_step, evaluated.checkpoint) == (8, f"{bucket}/out/model.ckpt-8")
    for path in ("out/model.ckpt-8", "out/model.ckpt-8.index", "out", "out/"):
        other = runs.execute(checkpoint_path=f"{bucket}/{path}", mode=EVAL, max_steps=2)
        assert other.metrics == evaluated.metrics
    warm = runs.execute(
        log_dir=f"{bucket}/warm", checkpoint_path=f"{bucket}/out/model.ckpt-5", max_steps=6
    )
    assert warm.steps == 1
    assert f"Restoring parameters from {bucket}/out/model.ckpt-5" in runs.messages(log)


def _lines(url: str) -> list[tuple[str, int]]:
    lines = [json.loads(line) for line in file.read(f"{url}/metrics.jsonl").splitlines()]
    return [(line["kind"], line["global_step"]) for line in lines]


def test_metrics_in_a_store_go_on(bucket: str, log: Any) -> None:
    runs.execute(log_dir=f"{bucket}/out", max_steps=3, log_every=2)
    runs.execute(log_dir=f"{bucket}/out", max_steps=6, log_every=2)
    runs.execute(log_dir=f"{bucket}/out", mode=EVAL)
    trained = [("train", step) for step in (0, 2, 3, 5)]
    assert _lines(f"{bucket}/out") == [*trained, ("evaluation", 6)]
    report = file.read(f"{bucket}/out/report.html")
    assert f"<td>{bucket}/out</td>" in report
    assert ".mox-room" not in report


def test_an_evaluation_leaves_the_metrics_to_a_training_beside_it(bucket: str, log: Any) -> None:
    runs.execute(log_dir=f"{bucket}/out", max_steps=3)
    before = file.read(f"{bucket}/out/report.html")

    def beside(outputs: Any) -> None:
        file.append(f"{bucket}/out/metrics.jsonl", "more\n")

    runs.execute(log_dir=f"{bucket}/out", mode=EVAL, max_steps=1, output_fn=beside, output_every=1)
    assert file.read(f"{bucket}/out/metrics.jsonl").endswith("more\n")
    assert file.read(f"{bucket}/out/report.html") == before
    assert (
        f"A training has written to {bucket}/out/metrics.jsonl meanwhile: this evaluation is not"
        " added to it."
    ) in runs.messages(log)


def test_which_of_two_checkpoints_counts_is_said(bucket: str, log: Any) -> None:
    runs.execute(log_dir=f"{bucket}/a", max_steps=1)
    runs.execute(log_dir=f"{bucket}/b", max_steps=2, save_steps=1)
    for path in ("b", "b/model.ckpt-1"):
        log.clear()
        result = runs.execute(
            log_dir=f"{bucket}/a", checkpoint_path=f"{bucket}/{path}", mode=EVAL, max_steps=1
        )
        assert result.checkpoint == f"{bucket}/a/model.ckpt-1"
        other = f"{bucket}/b/model.ckpt-{2 if path == 'b' else 1}"
        assert runs.messages(log)[1].startswith(
            f"TWO CHECKPOINTS: this run uses {bucket}/a/model.ckpt-1 of log_dir and NOT {other} of"
        )
    log.clear()
    runs.execute(log_dir=f"{bucket}/b", checkpoint_path=f"{bucket}/b", mode=EVAL, max_steps=1)
    assert not [line for line in runs.messages(log) if "TWO" in line or "Ignoring" in line]


def test_only_the_newest_five_checkpoints_stay_in_the_store(bucket: str) -> None:
    runs.execute(log_dir=f"{bucket}/out", max_steps=4, save_steps=1)
    runs.execute(log_dir=f"{bucket}/out", max_steps=7, save_steps=1)

    found = {n for n in names(f"{bucket}/out") if "tfevents" not in n}
    suffixes = (".data-00000-of-00001", ".index", ".meta", ".manifest.json")
    records = {"metrics.jsonl", "report.html", "run.json"}
    assert found - records == {"checkpoint"} | {
        f"model.ckpt-{n}{s}" for n in range(3, 8) for s in suffixes
    }


def test_a_damaged_checkpoint_is_skipped(bucket: str, log: Any) -> None:
    runs.execute(log_dir=f"{bucket}/out", max_steps=4, save_steps=2)
    url = f"{bucket}/out/model.ckpt-4.data-00000-of-00001"
    data = file.read(url, binary=True)
    file.write(url, data[:-1] + bytes([data[-1] ^ 1]), binary=True)

    result = runs.execute(log_dir=f"{bucket}/out", mode=EVAL, max_steps=1)

    assert result.checkpoint == f"{bucket}/out/model.ckpt-2"
    line = next(line for line in runs.messages(log) if line.startswith("Skipped: "))
    assert line.startswith(
        f"Skipped: {bucket}/out/model.ckpt-4: model.ckpt-4.data-00000-of-00001 is damaged (crc32:"
    )
    assert line.endswith("Using model.ckpt-2.")
    assert runs.execute(log_dir=f"{bucket}/out", max_steps=4).steps == 2
    assert runs.execute(log_dir=f"{bucket}/out", mode=EVAL, max_steps=1).global_step == 4


def test_without_a_whole_checkpoint_training_does_not_start_afresh(bucket: str) -> None:
    runs.execute(log_dir=f"{bucket}/out", max_steps=1)
    for step in (0, 1):
        file.remove(f"{bucket}/out/model.ckpt-{step}.data-00000-of-00001")
    with pytest.raises(CheckpointError) as caught:
        runs.execute(log_dir=f"{bucket}/out", max_steps=2)
    assert str(caught.value).startswith(f"No checkpoint in {bucket}/out is whole. Skipped: ")


def test_a_store_that_lists_late_still_gives_the_newest(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.execute(log_dir=f"{bucket}/out", max_steps=4, save_steps=2)
    real = fetch.listing

    def late(url: str) -> dict[str, int | None]:
        return {n: t for n, t in real(url).items() if "ckpt-4" not in n and n != "checkpoint"}

    monkeypatch.setattr(fetch, "listing", late)
    result = runs.execute(log_dir=f"{bucket}/out", mode=EVAL, max_steps=1)
    assert result.checkpoint == f"{bucket}/out/model.ckpt-4"


def test_what_is_missing_is_said_with_what_is_there(bucket: str) -> None:
    runs.execute(log_dir=f"{bucket}/out", max_steps=1)
    with pytest.raises(CheckpointError) as caught:
        runs.execute(checkpoint_path=f"{bucket}/out/model.ckpt-7", mode=EVAL, max_steps=1)
    assert str(caught.value) == (
        f"No checkpoint at checkpoint_path '{bucket}/out/model.ckpt-7'. {bucket}/out holds the"
        " checkpoints model.ckpt-0, model.ckpt-1."
    )
    with pytest.raises(CheckpointError) as caught:
        runs.execute(log_dir=f"{bucket}/empty", mode=EVAL, max_steps=1)
    assert str(caught.value).startswith(
        f"You must provide a checkpoint: log_dir '{bucket}/empty' holds none"
    )


def test_an_export_that_is_there_is_refused_before_any_step(bucket: str) -> None:
    file.write(f"{bucket}/out/1/saved_model.pb", b"x", binary=True)
    seen: list[str] = []

    def exporting(inputs: Any, mode: str) -> Any:
        seen.append(mode)
        return runs.exporting(inputs, mode)

    result = runs.execute(log_dir=f"{bucket}/out", model_fn=exporting, export=True)
    assert result.export_dir == f"{bucket}/out/2"

    def named(inputs: Any, mode: str) -> Any:
        model = runs.exporting(inputs, mode)
        assert model.export is not None
        signature = runs.ExportSignature(model.export.inputs, model.export.outputs, 1)
        return runs.dataclasses.replace(model, export=signature)

    with pytest.raises(ExportExistsError) as caught:
        runs.execute(log_dir=f"{bucket}/out", model_fn=named, export=True, max_steps=9)
    assert str(caught.value) == (
        "Export directory already exists. Please specify a different export directory:"
        f" {bucket}/out/1"
    )
    assert "model.ckpt-9.index" not in names(f"{bucket}/out")


def test_without_an_endpoint_nothing_is_built() -> None:
    def input_fn(mode: str) -> Any:
        raise AssertionError("called")

    for fields in ({"log_dir": "s3://b/out"}, {"checkpoint_path": "obs://b/model.ckpt-1"}):
        with pytest.raises(MoxRuntimeError) as caught:
            runs.execute(input_fn=input_fn, **fields)
        assert str(caught.value).startswith(
            "no S3/OBS endpoint configured (S3_ENDPOINT is not set), so "
            f"{next(iter(fields.values()))} can't be reached. Set the environment variable"
        )


def test_two_runs_at_once_are_refused_with_the_owner_named(bucket: str) -> None:
    inside, leave = threading.Event(), threading.Event()
    made: list[Any] = []

    def generator() -> Any:
        yield 1.0
        inside.set()
        leave.wait(60)
        yield 1.0

    def first() -> None:
        made.append(
            runs.execute(log_dir=f"{bucket}/out", input_fn=runs.generated(generator), max_steps=2)
        )

    thread = threading.Thread(target=first)
    thread.start()
    try:
        assert inside.wait(60)
        with pytest.raises(MoxRuntimeError) as caught:
            runs.execute(log_dir=f"{bucket}/out")
        assert str(caught.value).startswith(
            f"Another run is training in {bucket}/out: process {os.getpid()} on "
        )
        assert str(caught.value).endswith(
            "Wait for its end or stop it, or give this run a log_dir of its own."
        )
    finally:
        leave.set()
        thread.join(60)
    assert made[0].global_step == 2
    assert ".mox.lease.json" not in names(f"{bucket}/out")


def test_credentials_are_nowhere(
    bucket: str, keys: tuple[str, str], tmp_path: Path, log: Any
) -> None:
    runs.execute(log_dir=f"{bucket}/out", model_fn=runs.exporting, export=True)
    copy = brought(f"{bucket}/out", tmp_path)
    files = [path for path in copy.rglob("*") if path.is_file()]
    assert len(files) > 10
    for word in keys:
        assert not [path for path in files if word.encode() in path.read_bytes()]
        assert word not in log.text


def test_a_cached_directory_gets_what_the_store_would(
    tmp_path: Path, cache_dir: Path, log: Any
) -> None:
    target = tmp_path / "slow"
    result = runs.execute(log_dir=target, cached=True, max_steps=3)
    assert result.checkpoint == str(target / "model.ckpt-3")
    assert runs.execute(log_dir=target, cached=True, max_steps=5).steps == 2
    found = newest(target)
    assert found is not None
    assert found.step == 5
    assert list(target.glob("events.out.tfevents.*"))
    assert not list(cache_dir.iterdir())
    assert not [line for line in runs.messages(log) if str(cache_dir) in line]


def test_a_full_local_disk_is_not_taken_for_a_full_store(cache_dir: Path) -> None:
    local = f"{cache_dir}/room/log_dir"
    with pytest.raises(CheckpointError) as error, standing("s3://bucket/out", local):
        raise CheckpointError(f"Could not save checkpoint {local}/model.ckpt-5: [Errno 28] Full.")
    assert str(error.value) == (
        "Could not save checkpoint s3://bucket/out/model.ckpt-5: [Errno 28] Full. s3://bucket/out"
        f" is kept in {cache_dir} until it is uploaded; MOX_FILE_CACHE_DIR moves it."
    )
    with pytest.raises(CheckpointError) as error, standing("s3://bucket/out", local):
        raise CheckpointError(f"No checkpoint in {local}.")
    assert str(error.value) == "No checkpoint in s3://bucket/out."


def test_checkpoints_for_good_stay_in_the_store(bucket: str) -> None:
    def steps() -> set[int]:
        return {int(n.split("-")[1].split(".")[0]) for n in names(bucket) if n.endswith(".index")}

    out = f"{bucket}/out"
    runs.execute(log_dir=out, max_steps=3, save_steps=1, keep=1, hours=1e-9)
    assert steps() == {0, 1, 2, 3}
    runs.execute(log_dir=out, max_steps=6, save_steps=1, keep=1)
    assert steps() == {0, 1, 2, 3, 6}
