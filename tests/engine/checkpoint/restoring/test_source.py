"""Which checkpoint a run starts from, and what it is told where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.restorer import Foreign, Restorer
from moxing.engine.checkpoint.restoring.source import choose, locate
from moxing.errors import CheckpointError

DATA = ".data-00000-of-00001"
HINT = "Set checkpoint_path to a checkpoint file or a directory of checkpoints"


@pytest.fixture
def log_dir(make_model: Callable[..., Any], tmp_path: Path) -> str:
    """A directory with a commit of step 20."""
    directory = tmp_path / "log"
    directory.mkdir()
    make_model(directory=directory).save(20)
    return str(directory)


@pytest.fixture
def other(foreign: Callable[..., str], tmp_path: Path) -> str:
    """A checkpoint of another run."""
    directory = tmp_path / "other"
    directory.mkdir()
    return foreign({"b": np.float32(1)}, step=5, directory=directory)


def _message(function: Callable[[], Any]) -> str:
    with pytest.raises(CheckpointError) as caught:
        function()
    return str(caught.value)


@pytest.mark.parametrize("training", [True, False])
def test_log_dir_wins(
    log_dir: str, other: str, training: bool, log: pytest.LogCaptureFixture
) -> None:
    log.clear()
    own = Checkpoint(f"{log_dir}/model.ckpt-20", 20, resume=True)
    assert choose(log_dir, other, training) == own
    told = [(record.levelname, record.getMessage()) for record in log.records]
    ignoring = f"Ignoring --checkpoint_path because a checkpoint already exists in {log_dir}"
    loud = (
        f"TWO CHECKPOINTS: this run uses {own.prefix} of log_dir and NOT {other} of"
        " checkpoint_path. To use the latter, set log_dir to a directory without checkpoints."
    )
    assert told == [("INFO", ignoring)] + ([] if training else [("WARNING", loud)])


def test_a_second_directory_is_as_loud(
    log_dir: str, other: str, log: pytest.LogCaptureFixture
) -> None:
    choose(log_dir, os.path.dirname(other), mode_is_train=False)
    assert f"and NOT {other} of checkpoint_path" in log.messages[-1]
    os.remove(os.path.join(os.path.dirname(other), "checkpoint"))
    choose(log_dir, os.path.dirname(other), mode_is_train=False)
    assert f"and NOT {other} of checkpoint_path" in log.messages[-1]


def test_no_conflict_where_both_are_the_same(log_dir: str, log: pytest.LogCaptureFixture) -> None:
    log.clear()
    for path in (log_dir, f"{log_dir}/model.ckpt-20", f"{log_dir}/model.ckpt-20.meta"):
        found = choose(log_dir, path, mode_is_train=False)
        assert found == Checkpoint(f"{log_dir}/model.ckpt-20", 20, resume=True)
    assert log.messages == []


def test_an_ignored_path_need_not_exist(log_dir: str, log: pytest.LogCaptureFixture) -> None:
    log.clear()
    choose(log_dir, "/nowhere/x", mode_is_train=False)
    assert log.messages == [
        f"Ignoring --checkpoint_path because a checkpoint already exists in {log_dir}"
    ]


def test_checkpoint_path_is_second(other: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for log_dir in (None, str(empty), str(tmp_path / "not made yet")):
        for training in (True, False):
            assert choose(log_dir, other, training) == Checkpoint(other, 5)


def test_training_may_start_from_nothing(tmp_path: Path) -> None:
    assert choose(str(tmp_path), None, mode_is_train=True) is None
    assert choose(None, None, mode_is_train=True) is None


def test_other_modes_must_have_a_checkpoint(tmp_path: Path) -> None:
    tail = f"and checkpoint_path is not set. {HINT}, or log_dir to the directory of a training run."
    assert _message(lambda: choose(str(tmp_path), None, False)) == (
        f"You must provide a checkpoint: log_dir {str(tmp_path)!r} holds none {tail}"
    )
    assert _message(lambda: choose(None, None, False)) == (
        f"You must provide a checkpoint: log_dir is not set {tail}"
    )


@pytest.mark.parametrize("suffix", ["", ".index", ".meta", DATA, ".manifest.json"])
def test_any_file_of_a_checkpoint_will_do(log_dir: str, suffix: str) -> None:
    prefix = f"{log_dir}/model.ckpt-20"
    assert locate(prefix + suffix) == Checkpoint(prefix, 20)


def test_a_directory_means_its_newest(log_dir: str) -> None:
    assert locate(log_dir + "/") == Checkpoint(f"{log_dir}/model.ckpt-20", 20)


def test_a_bare_name_without_a_step(
    foreign: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign({"b": np.float32(1)}, name="resnet_v1_50.ckpt")
    os.remove(tmp_path / "checkpoint")
    prefix = str(tmp_path / "resnet_v1_50.ckpt")
    assert locate(prefix) == Checkpoint(prefix, None)
    assert locate(str(tmp_path)) == Checkpoint(prefix, None)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate("~/resnet_v1_50.ckpt") == Checkpoint(prefix, None)
    monkeypatch.chdir(tmp_path)
    assert locate("resnet_v1_50.ckpt") == Checkpoint("resnet_v1_50.ckpt", None)


@pytest.fixture
def old_format(tmp_path: Path) -> str:
    """A single file, as TensorFlow wrote checkpoints before its V2 format."""
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.Saver(
            [tf.get_variable("b", initializer=[1.0, 2.0])], write_version=tf.train.SaverDef.V1
        )
        session.run(tf.global_variables_initializer())
        return saver.save(session, str(tmp_path / "vgg_16.ckpt"), write_meta_graph=False)


def test_the_old_format(old_format: str, tmp_path: Path) -> None:
    assert locate(old_format) == Checkpoint(old_format, None)
    assert locate(str(tmp_path)) == Checkpoint(old_format, None)
    os.remove(tmp_path / "checkpoint")
    assert _message(lambda: locate(str(tmp_path))) == (
        f"checkpoint_path {str(tmp_path)!r} is a directory without a checkpoint. {tmp_path} holds"
        f" the checkpoints vgg_16.ckpt. {HINT}."
    )


def test_the_old_format_in_shards(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.device("/cpu:0"):
            b = tf.get_variable("b", initializer=[1.0, 2.0])
        version = tf.train.SaverDef.V1
        saver = tf.train.Saver([b], sharded=True, write_version=version)
        session.run(tf.global_variables_initializer())
        pattern = saver.save(session, str(tmp_path / "model.ckpt"), 7, write_meta_graph=False)
        assert pattern == f"{tmp_path}/model.ckpt-7-?????-of-00001"
        shard = f"{tmp_path}/model.ckpt-7-00000-of-00001"
        for path in (pattern, shard, str(tmp_path)):
            assert locate(path) == Checkpoint(pattern, 7)
        restorer = Restorer(locate(shard), [b], foreign=Foreign())
        session.run(b.assign([0.0, 0.0]))
        restorer.run(session)
        assert session.run(b).tolist() == [1.0, 2.0]
    second = f"{tmp_path}/model.ckpt-7-?????-of-00002"
    assert _message(lambda: locate(second)) == (
        f"No checkpoint at checkpoint_path {second!r}. {tmp_path} holds the checkpoints"
        " model.ckpt-7-?????-of-00001."
    )


@pytest.mark.parametrize("step", [None, 5])
def test_a_prefix_without_a_name(tmp_path: Path, step: int | None) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.Saver([tf.get_variable("b", initializer=1.0)])
        session.run(tf.global_variables_initializer())
        prefix = saver.save(session, f"{tmp_path}/", global_step=step)
    assert prefix == f"{tmp_path}/" + ("" if step is None else "-5")
    assert locate(f"{tmp_path}/").prefix == prefix
    os.remove(tmp_path / "checkpoint")
    assert locate(f"{tmp_path}/").prefix == prefix


def test_the_old_format_damaged(old_format: str) -> None:
    Path(old_format).write_bytes(Path(old_format).read_bytes()[:-3])
    message = _message(lambda: locate(old_format))
    assert message.startswith(
        f"checkpoint_path {old_format!r} is damaged: it can't be read:"
        f" Unable to open table file {old_format}: DATA_LOSS: not an sstable (bad magic number)"
    )
    assert message.endswith(" Copy it anew, or use another checkpoint.")


def test_something_else_than_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "weights.h5"
    path.write_bytes(b"\x89HDF\r\n" * 30)
    assert _message(lambda: locate(str(path))).startswith(
        f"checkpoint_path '{path}' is damaged: it can't be read: "
    )


def test_a_damaged_prefix(log_dir: str) -> None:
    prefix = f"{log_dir}/model.ckpt-20"
    for suffix in (DATA, ".index"):
        os.remove(prefix + suffix)
        assert _message(lambda suffix=suffix: locate(prefix + suffix)) == (
            f"checkpoint_path {prefix + suffix!r} is damaged: model.ckpt-20{suffix} is missing."
            " Copy it anew, or use another checkpoint."
        )


def test_a_missing_path(log_dir: str, make_model: Callable[..., Any]) -> None:
    make_model(directory=Path(log_dir)).save(30)
    path = f"{log_dir}/model.ckpt-2"
    assert _message(lambda: locate(path)) == (
        f"No checkpoint at checkpoint_path {path!r}. {log_dir} holds the checkpoints model.ckpt-20,"
        " model.ckpt-30."
    )


def test_a_missing_directory() -> None:
    assert _message(lambda: locate("/nowhere/at/all")) == (
        "No checkpoint at checkpoint_path '/nowhere/at/all': there is no directory /nowhere/at."
    )


def test_an_empty_path() -> None:
    assert _message(lambda: locate("")) == (
        "checkpoint_path is empty. Set it to a checkpoint file or a directory of checkpoints."
    )


def test_an_empty_directory(tmp_path: Path) -> None:
    start = f"checkpoint_path '{tmp_path}' is a directory without a checkpoint."
    assert _message(lambda: locate(str(tmp_path))) == f"{start} {tmp_path} is empty. {HINT}."
    for name in "abcdefg":
        (tmp_path / name).touch()
    assert _message(lambda: locate(str(tmp_path))) == (
        f"{start} {tmp_path} holds a, b, c, d, e and 2 more. {HINT}."
    )


def test_a_stale_pointer(other: str) -> None:
    directory = os.path.dirname(other)
    for path in Path(directory).glob("model.ckpt-5.*"):
        path.unlink()
    moved = shutil.move(directory, directory + "-moved")
    assert _message(lambda: locate(moved)) == (
        f"checkpoint_path {moved!r}: {moved}/checkpoint names {other}, which does not exist, nor is"
        f" there {moved}/model.ckpt-5. {moved} holds checkpoint. Set checkpoint_path to where the"
        " checkpoint is now."
    )
