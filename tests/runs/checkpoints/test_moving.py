"""Checkpoints are copied whole, and folders point to the newest of what they hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.lock import lock
from moxing.engine.checkpoint.manifest import read_input
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring import verify
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.errors import CheckpointError, MoxRuntimeError, MoxValueError
from moxing.framework import file
from moxing.runs.checkpoints import listing, moving, source

Make = Callable[..., str]


def test_a_copy_is_whole_and_becomes_the_newest(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "a", 10, {"w": 1.0})
    make(tmp_path / "b", 99, {"w": 2.0})

    copied = moving.copy(str(tmp_path / "a"), str(tmp_path / "b"))

    assert copied == str(tmp_path / "b" / "model.ckpt-10")
    assert verify.fault(copied) is None
    found = newest(tmp_path / "b")
    assert found is not None
    assert found.step == 10
    state = tf.train.get_checkpoint_state(str(tmp_path / "b"))
    assert [Path(path).name for path in state.all_model_checkpoint_paths] == [
        "model.ckpt-99",
        "model.ckpt-10",
    ]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("target", ["local", "s3://bucket/run"])
def test_the_place_in_the_input_goes_with_a_checkpoint(
    tmp_path: Path, make: Make, target: str
) -> None:
    prefix = make(tmp_path / "a", 10, {"w": 1.0}, input_state=lambda: b"here")
    folder = target if file.is_remote(target) else str(tmp_path / target)

    copied = moving.copy(prefix, folder)
    back = moving.copy(copied, str(tmp_path / "back"))

    assert file.read(f"{copied}.input", binary=True) == b"here"
    assert read_input(Checkpoint(back, 10)) == b"here"


def test_a_foreign_checkpoint_is_copied_too(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=3.0)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "a" / "mine"), 7)

    copied = moving.copy(prefix, str(tmp_path / "b"))

    assert source.read(copied).arrays["w"] == 3.0


@pytest.mark.usefixtures("store")
def test_a_copy_into_a_store_and_back(tmp_path: Path, make: Make) -> None:
    url = "s3://bucket/run"
    prefix = make(tmp_path / "a", 10, {"w": 1.0})

    assert moving.copy(prefix, url) == f"{url}/model.ckpt-10"
    moving.copy(make(tmp_path / "a", 20, {"w": 2.0}), url)
    back = moving.copy(url, str(tmp_path / "back"))

    assert back.endswith("/model.ckpt-20")
    assert source.read(back).arrays["w"] == 2.0
    assert [one.step for one in listing.listed(url)] == [10, 20]
    assert not file.exists(f"{url}/.mox.lease.json")


def test_a_damaged_checkpoint_is_not_copied(tmp_path: Path, make: Make) -> None:
    prefix = make(tmp_path / "a", 10, {"w": 1.0})
    Path(f"{prefix}.data-00000-of-00001").write_bytes(b"\0\0\0\0")

    with pytest.raises(CheckpointError, match="damaged"):
        moving.copy(prefix, str(tmp_path / "b"))
    assert not (tmp_path / "b").exists()


def test_nothing_is_replaced(tmp_path: Path, make: Make) -> None:
    prefix = make(tmp_path / "a", 10, {"w": 1.0})
    make(tmp_path / "b", 10, {"w": 2.0})

    with pytest.raises(MoxValueError, match="already"):
        moving.copy(prefix, str(tmp_path / "b"))
    assert source.read(str(tmp_path / "b")).arrays["w"] == 2.0


def test_removing_points_to_the_rest(tmp_path: Path, make: Make) -> None:
    for step in (1, 2, 3):
        make(tmp_path, step, {"w": float(step)})

    removed = moving.remove([str(tmp_path / "model.ckpt-3.index"), str(tmp_path / "model.ckpt-1")])

    assert [Path(path).name for path in removed] == ["model.ckpt-3", "model.ckpt-1"]
    found = newest(tmp_path)
    assert found is not None
    assert found.step == 2
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-2")

    moving.remove([str(tmp_path / "model.ckpt-2")])
    assert newest(tmp_path) is None
    assert not (tmp_path / "checkpoint").exists()


def test_a_missing_one_keeps_all(tmp_path: Path, make: Make) -> None:
    prefix = make(tmp_path, 1, {"w": 1.0})

    with pytest.raises(CheckpointError, match="Nothing was removed"):
        moving.remove([prefix, str(tmp_path / "model.ckpt-2")])
    assert verify.fault(prefix) is None


@pytest.mark.parametrize("name", ["train.py", "short", "checkpoint"])
def test_a_file_that_is_no_checkpoint_is_not_removed(tmp_path: Path, make: Make, name: str) -> None:
    prefix = make(tmp_path, 1, {"w": 1.0})
    path = tmp_path / name
    if name != "checkpoint":
        path.write_text("x" * 5 if name == "short" else "print('precious')\n")
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=f"{name} is a file, and no checkpoint of TensorFlow"):
        moving.remove([prefix, str(path)])
    assert path.read_bytes() == before
    assert os.path.exists(prefix + ".index")


def test_a_file_of_the_v1_format_is_removed(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.Saver(
            [tf.get_variable("b", initializer=[1.0, 2.0])], write_version=tf.train.SaverDef.V1
        )
        session.run(tf.global_variables_initializer())
        prefix = saver.save(session, str(tmp_path / "old.ckpt"), 3)
    assert moving.remove([prefix]) == [prefix]
    assert not os.path.exists(prefix)


def test_a_folder_in_training_is_left_alone(tmp_path: Path, make: Make) -> None:
    prefix = make(tmp_path, 1, {"w": 1.0})
    with lock(tmp_path), pytest.raises(MoxRuntimeError, match="Another run is training"):
        moving.remove([prefix])
    assert verify.fault(prefix) is None


def test_the_list_has_all_and_says_which_are_damaged(tmp_path: Path, make: Make) -> None:
    make(tmp_path, 1, {"w": 1.0})
    make(tmp_path / "best", 1, {"w": 1.0})
    broken = make(tmp_path, 2, {"w": 1.0})
    data = Path(f"{broken}.data-00000-of-00001")
    data.write_bytes(data.read_bytes()[:-1])

    listed = listing.listed(str(tmp_path), verified=True)

    assert [one.name for one in listed] == ["best/model.ckpt-1", "model.ckpt-1", "model.ckpt-2"]
    assert [bool(one.fault) for one in listed] == [False, False, True]
    assert "DAMAGED: model.ckpt-2.data" in listing.text(listed)
    assert not any(one.fault for one in listing.listed(str(tmp_path)))  # Nothing was read.
