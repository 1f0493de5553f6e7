"""The newest checkpoint that is whole is found, whatever is damaged, and said so."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.errors import CheckpointError

DATA = ".data-00000-of-00001"


@pytest.fixture
def two(make_model: Callable[..., Any], tmp_path: Path) -> Path:
    """A directory with commits of steps 10 and 20."""
    model = make_model()
    model.save(10, value=1.0)
    model.save(20, value=2.0, extra={"position": 20})
    return tmp_path


def _at(directory: Path, step: int) -> Checkpoint:
    return Checkpoint(str(directory / f"model.ckpt-{step}"), step)


def _flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def test_nothing_there(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    (tmp_path / "events.out.tfevents.1").write_bytes(b"")
    (tmp_path / "words.index").write_bytes(b"of another program")
    assert newest(tmp_path) is None
    assert newest(tmp_path / "missing") is None
    assert log.messages == []


def test_all_well(two: Path, log: pytest.LogCaptureFixture) -> None:
    assert newest(str(two)) == _at(two, 20)
    assert log.messages == []


def _replace_by_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("suffix", "damage", "why"),
    [
        (DATA, Path.unlink, "is missing"),
        (".index", Path.unlink, "is missing"),
        (DATA, _shorten, "has 63 bytes instead of 64"),
        (DATA, _replace_by_a_directory, "is a directory"),
        (".index", _replace_by_a_directory, "is a directory"),
    ],
)
def test_damage_is_named(
    two: Path,
    log: pytest.LogCaptureFixture,
    suffix: str,
    damage: Callable[[Path], None],
    why: str,
) -> None:
    damage(two / f"model.ckpt-20{suffix}")
    assert newest(two) == _at(two, 10)
    assert log.messages == [
        f"Skipped: {two}/model.ckpt-20: model.ckpt-20{suffix} {why}. Using {two}/model.ckpt-10."
    ]
    assert [record.levelname for record in log.records] == ["WARNING"]


@pytest.mark.parametrize("suffix", [DATA, ".index"])
def test_any_flipped_bit_is_found(two: Path, suffix: str) -> None:
    path = two / f"model.ckpt-20{suffix}"
    for position in range(0, path.stat().st_size, 7):
        _flip(path, position)
        assert newest(two) == _at(two, 10)
        _flip(path, position)
    assert newest(two) == _at(two, 20)


def test_a_flipped_bit_is_named(two: Path, log: pytest.LogCaptureFixture) -> None:
    path = two / f"model.ckpt-20{DATA}"
    path.write_bytes(bytes(64))
    newest(two)
    manifest = json.loads((two / "model.ckpt-20.manifest.json").read_text())
    digest = manifest["body"]["files"][DATA]["digest"]
    assert log.messages == [
        f"Skipped: {two}/model.ckpt-20: model.ckpt-20{DATA} is damaged"
        f" (crc32:758d6336 instead of {digest}). Using {two}/model.ckpt-10."
    ]


def test_a_damaged_manifest_costs_only_the_extra(two: Path, log: pytest.LogCaptureFixture) -> None:
    path = two / "model.ckpt-20.manifest.json"
    for position in range(0, path.stat().st_size, 11):
        _flip(path, position)
        assert newest(two) == _at(two, 20)
        assert read_extra(_at(two, 20)) in ({}, {"position": 20})
        _flip(path, position)
    _flip(path, path.read_text().index("position"))
    log.clear()
    assert read_extra(_at(two, 20)) == {}
    assert log.messages == [
        f"{two}/model.ckpt-20.manifest.json is damaged: the variables are restored, the position in"
        " the input is not."
    ]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is empty"),
        (b'model_checkpoint_path: "model.ck', "is torn or garbled"),
        (b"\xff\xfe\x00", "is torn or garbled"),
        (b'all_model_checkpoint_paths: "model.ckpt-10"\n', "names no checkpoint"),
    ],
)
def test_a_torn_pointer(
    two: Path, log: pytest.LogCaptureFixture, content: bytes, fault: str
) -> None:
    (two / "checkpoint").write_bytes(content)
    assert newest(two) == _at(two, 20)
    assert log.messages == [f"Skipped: {two}/checkpoint {fault}. Using {two}/model.ckpt-20."]


def test_no_pointer(two: Path) -> None:
    (two / "checkpoint").unlink()
    assert newest(two) == _at(two, 20)


@pytest.mark.parametrize("behind", [0, 10**9])
def test_a_pointer_that_was_not_written_after_the_last_commit_does_not_count(
    behind: int, make_model: Callable[..., Any], tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    """Also where a store tells one second for both."""
    model = make_model()
    model.save(10)
    before = (tmp_path / "checkpoint").read_bytes()
    model.save(20)
    (tmp_path / "checkpoint").write_bytes(before)
    committed = os.stat(tmp_path / "model.ckpt-20.manifest.json").st_mtime_ns
    os.utime(tmp_path / "checkpoint", ns=(committed, committed - behind))
    log.clear()
    assert newest(tmp_path) == _at(tmp_path, 20)
    assert log.messages == []


@pytest.mark.parametrize("times_lost", [False, True])
def test_a_user_who_goes_back_is_obeyed(
    two: Path, make_model: Callable[..., Any], times_lost: bool
) -> None:
    pointer = two / "checkpoint"
    pointer.write_text(pointer.read_text().replace("ckpt-20", "ckpt-10", 1))
    if times_lost:
        os.utime(pointer, ns=(1, 1))
    assert newest(two) == _at(two, 10)
    make_model().save(15)
    pointer.unlink()
    assert newest(two) == _at(two, 15)


def test_all_damaged_is_an_error(two: Path) -> None:
    (two / f"model.ckpt-10{DATA}").unlink()
    (two / "model.ckpt-20.index").unlink()
    with pytest.raises(CheckpointError) as caught:
        newest(two)
    assert str(caught.value) == (
        f"No checkpoint in {two} is whole. Skipped: {two}/model.ckpt-20: model.ckpt-20.index is"
        f" missing; {two}/model.ckpt-10: model.ckpt-10{DATA} is missing. Restore the files from a"
        " copy; to do without them, remove them or choose another directory."
    )


def test_a_user_who_removed_the_checkpoints_starts_afresh(
    two: Path, log: pytest.LogCaptureFixture
) -> None:
    for path in two.glob("model.ckpt-*"):
        path.unlink()
    assert newest(two) is None
    assert log.messages == [
        f"Skipped: {two}/model.ckpt-20: model.ckpt-20.index is missing."
        f" There is no other checkpoint in {two}, nor the values of one."
    ]


def test_lost_indexes_are_an_error(two: Path) -> None:
    """A run that started from scratch would delete the values that an index makes whole again."""
    kept = {path: path.read_bytes() for path in two.glob("*.index")}
    for path in kept:
        path.unlink()
    with pytest.raises(CheckpointError) as caught:
        newest(two)
    assert str(caught.value) == (
        f"No checkpoint in {two} is whole. Skipped: {two}/model.ckpt-20: model.ckpt-20.index is"
        f" missing; {two}/model.ckpt-10: model.ckpt-10.index is missing. Restore the files from a"
        " copy; to do without them, remove them or choose another directory."
    )
    assert len(list(two.glob(f"*{DATA}"))) == 2
    for path, content in kept.items():
        path.write_bytes(content)
    assert newest(two) == _at(two, 20)


@pytest.mark.parametrize("pointer", [True, False])
def test_lost_indexes_of_another_program_are_an_error(
    foreign: Callable[..., str], tmp_path: Path, pointer: bool
) -> None:
    foreign({"w": np.zeros(3)}, step=70)
    foreign({"w": np.zeros(3)}, name="weights")
    for path in tmp_path.glob("*.index"):
        path.unlink()
    if not pointer:
        (tmp_path / "checkpoint").unlink()
    with pytest.raises(CheckpointError, match="No checkpoint in .* is whole") as caught:
        newest(tmp_path)
    for name in ("weights", "model.ckpt-70"):
        assert f"{tmp_path}/{name}: {name}.index is missing" in str(caught.value)


def test_remains_of_a_first_commit_that_was_cut_off_are_no_checkpoint(
    make_model: Callable[..., Any], tmp_path: Path
) -> None:
    """As SIGKILL leaves them: values are in place, the index and the manifest in the stage."""
    model = make_model()
    model.save(0)
    stage = tmp_path / ".mox-tmp-killed"
    stage.mkdir()
    for suffix in (".index", ".manifest.json"):
        os.rename(tmp_path / f"model.ckpt-0{suffix}", stage / f"model.ckpt-0{suffix}")
    (tmp_path / "checkpoint").unlink()
    assert newest(tmp_path) is None


def test_a_moved_directory(two: Path) -> None:
    moved = two.with_name("moved")
    shutil.move(two, moved)
    assert newest(moved) == _at(moved, 20)


def test_absolute_paths_of_a_moved_directory(foreign: Callable[..., str], tmp_path: Path) -> None:
    foreign({"b": np.float32(1)}, step=3)
    assert str(tmp_path) in (tmp_path / "checkpoint").read_text()
    copy = shutil.copytree(tmp_path, tmp_path.with_name("copy"))
    assert newest(copy) == _at(copy, 3)


def test_other_programs_checkpoints(foreign: Callable[..., str], tmp_path: Path) -> None:
    foreign({"b": np.float32(1)}, step=3)
    foreign({"b": np.float32(1)}, step=12)
    assert newest(tmp_path) == _at(tmp_path, 12)
    (tmp_path / "checkpoint").unlink()
    assert newest(tmp_path) == _at(tmp_path, 12)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda path: path.unlink(), f"model.ckpt-12{DATA} is missing"),
        (_shorten, "it can't be read: Read less bytes than requested"),
        (
            lambda path: path.write_bytes(bytes(4)),
            "it can't be read: TensorBundle at {p} shard 0 (4 bytes): Checksum does not match:"
            " stored 152852091 vs. calculated on the restored bytes 1214729159",
        ),
    ],
)
def test_other_programs_damaged_checkpoints(
    foreign: Callable[..., str],
    tmp_path: Path,
    log: pytest.LogCaptureFixture,
    damage: Callable[[Path], None],
    why: str,
) -> None:
    foreign({"b": np.float32(1)}, step=3)
    foreign({"b": np.float32(2)}, step=12)
    damage(tmp_path / f"model.ckpt-12{DATA}")
    log.clear()
    assert newest(tmp_path) == _at(tmp_path, 3)
    prefix = f"{tmp_path}/model.ckpt-12"
    assert log.messages == [
        f"Skipped: {prefix}: {why.format(p=prefix)}. Using {tmp_path}/model.ckpt-3."
    ]


def test_sharded_checkpoints_of_other_programs(tmp_path: Path) -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        for number in range(2):
            with tf.device(f"/cpu:{number}"):
                tf.get_variable(f"v{number}", [2])
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver(sharded=True).save(session, str(tmp_path / "model.ckpt"), 1)
    shards = sorted(tmp_path.glob("*.data-*"))
    assert newest(tmp_path) == Checkpoint(prefix, 1)
    if len(shards) == 2:
        shards[0].unlink()
        with pytest.raises(CheckpointError, match=f"{shards[0].name} is missing"):
            newest(tmp_path)


def test_a_newer_checkpoint_of_another_program_counts(
    two: Path, foreign: Callable[..., str]
) -> None:
    foreign({"b": np.float32(1)}, step=30)
    assert newest(two) == _at(two, 30)
