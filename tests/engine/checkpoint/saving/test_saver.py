"""A saved checkpoint is TensorFlow's own, is committed, and is logged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint import reader as reader_module
from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.reader import Stored
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.checkpoint.saving import retention
from moxing.engine.checkpoint.saving.saver import Saver
from moxing.errors import CheckpointError, MoxValueError


def _files(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def test_tensorflow_reads_what_is_saved(make_model: Callable[..., Any], tmp_path: Path) -> None:
    model = make_model({"a/w": np.arange(6.0, dtype=np.float32).reshape(2, 3), "n": np.int64(7)})
    saved = model.save(50)
    prefix = str(tmp_path / "model.ckpt-50")
    assert saved == Checkpoint(prefix, 50)
    assert tf.train.latest_checkpoint(str(tmp_path)) == prefix
    assert tf.train.list_variables(prefix) == [("a/w", [2, 3]), ("n", [])]
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.get_variable("a/w", [2, 3])
        tf.train.Saver([weights]).restore(session, prefix)
        assert session.run(weights).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_meta_file_rebuilds_the_graph(make_model: Callable[..., Any]) -> None:
    saved = make_model().save(3, value=2.5)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(saved.prefix + ".meta")
        saver.restore(session, saved.prefix)
        assert [v.op.name for v in tf.trainable_variables()] == ["w", "b"]
        assert session.run(tf.global_variables()[1]).tolist() == [2.5] * 4


def test_files_and_pointer(make_model: Callable[..., Any], tmp_path: Path) -> None:
    model = make_model()
    model.save(0)
    model.save(10)
    assert _files(tmp_path) == ["checkpoint"] + [
        f"model.ckpt-{step}{suffix}"
        for step in (0, 10)
        for suffix in (".data-00000-of-00001", ".index", ".manifest.json", ".meta")
    ]
    assert (tmp_path / "checkpoint").read_text() == (
        'model_checkpoint_path: "model.ckpt-10"\n'
        'all_model_checkpoint_paths: "model.ckpt-0"\n'
        'all_model_checkpoint_paths: "model.ckpt-10"\n'
    )


def test_the_graph_is_written_once_and_linked(
    make_model: Callable[..., Any], tmp_path: Path
) -> None:
    model = make_model(keep=1)
    first, second = model.save(1), model.save(2)
    assert not os.path.exists(first.prefix + ".meta")
    assert os.stat(second.prefix + ".meta").st_nlink == 1
    inode = os.stat(second.prefix + ".meta").st_ino
    assert os.stat(model.save(3).prefix + ".meta").st_ino == inode
    os.remove(tmp_path / "model.ckpt-3.meta")
    assert os.path.getsize(model.save(4).prefix + ".meta") > 0


def test_a_graph_full_of_data_gets_no_meta_file(
    make_model: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moxing.engine.checkpoint.saving.metagraph.LARGEST", 10)
    model = make_model()
    model.save(1)
    model.save(2)
    assert not list(tmp_path.glob("*.meta"))
    assert newest(tmp_path) == Checkpoint(str(tmp_path / "model.ckpt-2"), 2)


def test_the_line_that_users_look_for(
    make_model: Callable[..., Any], tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    make_model().save(0)
    assert log.messages == [f"Saving checkpoints for 0 into {tmp_path}/model.ckpt."]


def test_a_step_is_saved_once_in_a_run(
    make_model: Callable[..., Any], log: pytest.LogCaptureFixture, read_value: Callable[..., float]
) -> None:
    model = make_model()
    first = model.save(5, value=1.0)
    assert model.save(5, value=2.0) == first
    assert len(log.messages) == 1
    assert read_value(first.prefix) == 1.0


def test_a_step_is_saved_again_where_it_was_deleted(make_model: Callable[..., Any]) -> None:
    model = make_model()
    os.remove(model.save(5).prefix + ".manifest.json")
    assert os.path.exists(model.save(5).prefix + ".manifest.json")


def test_extra_comes_back(make_model: Callable[..., Any]) -> None:
    extra = {"input": {"epoch": 3, "order": [1, 2]}, "name": "größe"}
    assert read_extra(make_model().save(1, extra=extra)) == extra
    assert read_extra(make_model().save(2)) == {}


def test_an_extra_that_json_cannot_hold_writes_nothing(
    make_model: Callable[..., Any], tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match="Object of type object is not JSON serializable"):
        make_model().save(1, extra={"position": object()})
    assert _files(tmp_path) == []


def test_the_manifest_says_what_the_checkpoint_is(
    make_model: Callable[..., Any], tmp_path: Path
) -> None:
    model = make_model()
    model.save(1)
    body = json.loads(Path(model.save(2).prefix + ".manifest.json").read_text())["body"]
    data = body["files"][".data-00000-of-00001"]
    assert data["bytes"] == (tmp_path / "model.ckpt-2.data-00000-of-00001").stat().st_size == 64
    assert (body["step"], body["serial"], body["variables"]) == (2, 2, ["b", "w"])


def test_partitioned_variables_are_saved_as_one(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        parts = tf.get_variable(
            "p",
            [10, 2],
            partitioner=tf.fixed_size_partitioner(3),
            initializer=tf.ones_initializer(),
        )
        saver = Saver(tmp_path, [parts])
        session.run(tf.global_variables_initializer())
        saved = saver.save(session, 1)
    assert tf.train.list_variables(saved.prefix) == [("p", [10, 2])]
    assert newest(tmp_path) == saved


def test_strings_and_ref_variables(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.get_variable("t", initializer=tf.constant(["a", "bcd"]), use_resource=True)
        old = tf.get_variable("old", initializer=[1.0, 2.0], use_resource=False)
        saver = Saver(tmp_path, [text, old])
        session.run(tf.global_variables_initializer())
        reader = tf.train.load_checkpoint(saver.save(session, 1).prefix)
    assert reader.get_tensor("t").tolist() == [b"a", b"bcd"]
    assert reader.get_tensor("old").tolist() == [1.0, 2.0]


def test_a_later_run_continues_the_count(make_model: Callable[..., Any], tmp_path: Path) -> None:
    make_model().save(10)
    make_model().save(20)
    prefixes = [str(tmp_path / f"model.ckpt-{step}") for step in (10, 20)]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == prefixes


def test_the_newest_are_kept(make_model: Callable[..., Any], tmp_path: Path) -> None:
    make_model(keep=2).save(1)
    model = make_model(keep=2)
    for step in (2, 3, 4):
        model.save(step)
    assert sorted({path.stem for path in tmp_path.glob("*.index")}) == [
        "model.ckpt-3",
        "model.ckpt-4",
    ]
    assert not list(tmp_path.glob("model.ckpt-[12].*"))


def test_one_every_so_many_hours_stays_for_good_over_all_runs(
    make_model: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps() -> list[int]:
        return sorted(int(path.stem.split("-")[1]) for path in tmp_path.glob("*.index"))

    now = 1e9
    monkeypatch.setattr(retention.time, "time", lambda: now)
    model = make_model(keep=2, hours=3.0)
    for step in range(6):
        model.save(step)
        now += 3600.0
    assert steps() == [3, 4, 5]
    # Five hours and a half after the one at step 3, in a run that began two hours later.
    now += 3600.0 * 2
    model = make_model(keep=2, hours=3.0)
    for step in (6, 7, 8):
        now += 1800.0
        model.save(step)
        model.save(step, extra={"again": True})
    assert steps() == [3, 6, 7, 8]
    # Those that were chosen stay where later runs choose none.
    model = make_model(keep=1)
    model.save(9)
    assert steps() == [3, 6, 9]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-9")


def test_the_first_save_of_a_run_keeps_what_it_resumed_from(
    make_model: Callable[..., Any], tmp_path: Path
) -> None:
    make_model(keep=1).save(1)
    second = make_model(keep=1)
    assert newest(tmp_path) == Checkpoint(str(tmp_path / "model.ckpt-1"), 1)
    second.save(2)
    assert newest(tmp_path) == Checkpoint(str(tmp_path / "model.ckpt-2"), 2)
    assert not list(tmp_path.glob("model.ckpt-1.*"))


def test_all_can_be_kept(make_model: Callable[..., Any], tmp_path: Path) -> None:
    model = make_model(keep=None)
    for step in range(7):
        model.save(step)
    assert len(list(tmp_path.glob("*.index"))) == 7


def test_other_programs_checkpoints_are_never_deleted(
    make_model: Callable[..., Any], foreign: Callable[..., str]
) -> None:
    other = foreign({"w": np.float32(1)}, step=1)
    model = make_model(keep=1)
    model.save(2)
    model.save(3)
    assert os.path.exists(other + ".index")


def test_a_checkpoint_that_cannot_be_deleted_is_a_warning(
    make_model: Callable[..., Any],
    tmp_path: Path,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = make_model(keep=1)
    model.save(1)

    def refuse(path: str) -> None:
        os.stat(path)
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.remove", refuse)
    model.save(2)
    assert log.messages[-1] == (
        f"Could not delete the old checkpoint {tmp_path}/model.ckpt-1 (Permission denied); it"
        " stays."
    )
    assert newest(tmp_path) == Checkpoint(str(tmp_path / "model.ckpt-2"), 2)


@pytest.mark.parametrize("keep", [0, -1])
def test_at_least_one_is_kept(keep: int, tmp_path: Path) -> None:
    with pytest.raises(MoxValueError) as caught:
        Saver(tmp_path, [], keep=keep)
    assert str(caught.value) == (
        f"keep={keep}: at least one checkpoint must be kept; None keeps all of them."
    )


def test_what_does_not_read_back_is_not_committed(
    make_model: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model()
    model.save(1)
    wrong = Stored("", {"w": [3, 4], "b": [5]}, {"w": tf.float32, "b": tf.float32})
    monkeypatch.setattr(reader_module, "stored", lambda prefix: wrong)
    with pytest.raises(CheckpointError) as caught:
        model.save(2)
    assert str(caught.value) == (
        f"Checkpoint {tmp_path}/model.ckpt-2 was written but does not read back: 2 variables of 2,"
        " 64 bytes of at least 68, wrong: ['b']. It was not committed. The disk may be failing."
    )
    assert newest(tmp_path) == Checkpoint(str(tmp_path / "model.ckpt-1"), 1)
    assert not list(tmp_path.glob("*ckpt-2*"))


def test_a_variable_without_a_value_is_named_by_tensorflow(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        saver = Saver(tmp_path, [tf.get_variable("lonely", [2], use_resource=True)])
        with pytest.raises(tf.errors.FailedPreconditionError, match="lonely"):
            saver.save(session, 1)
    assert _files(tmp_path) == []
