"""Damaged checkpoints below a folder, and the best ones by a value that the program names."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import CheckpointError, MoxTypeError, MoxValueError
from moxing.flow.saving import storage
from moxing.framework import file
from moxing.runs.checkpoints import listing, moving, source


def value(count: Any) -> int:
    return int(count().get().tolist()[0])


@pytest.fixture
def three(count: Any, tmp_path: Path) -> flow.train.SimpleCheckPointManager:
    """A folder with the checkpoints behind one, two and three steps."""
    manager = flow.train.SimpleCheckPointManager(str(tmp_path / "root"))
    manager.initialize_or_restore()
    for _ in range(3):
        count().get()
        manager.save()
    return manager


def _flip(folder: Path) -> None:
    path = folder / "w" / "out"
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])


def _truncate(folder: Path) -> None:
    (folder / "w" / "out").write_bytes(b"\0")


def _lose(folder: Path) -> None:
    shutil.rmtree(folder / "w")


def _empty_digests(folder: Path) -> None:
    (folder / ".digests.json").write_bytes(b"")


def _directory(folder: Path) -> None:
    (folder / "w" / "out").unlink()
    (folder / "w" / "out").mkdir()


def _cut(folder: Path) -> None:
    (folder / "snapshot_done").unlink()


@pytest.mark.parametrize("damage", [_flip, _truncate, _lose, _cut, _empty_digests, _directory])
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(
    damage: Callable[[Path], None],
    three: Any,
    count: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = three.list_checkpoints()
    damage(tmp_path / "root" / names[-1])
    before = sorted((tmp_path / "root").rglob("*"))
    three.initialize_or_restore()
    assert value(count) == 2
    assert sorted((tmp_path / "root").rglob("*")) == before
    (line,) = [message for message in caplog.messages if message.startswith("Skipped: ")]
    assert f"{tmp_path}/root/{names[-1]}" in line
    assert line.endswith(f"Using {names[-2]}.")


@pytest.mark.parametrize("damage", [_flip, _lose, _cut])
def test_a_folder_without_a_whole_checkpoint_is_not_started_anew(
    damage: Callable[[Path], None], three: Any, tmp_path: Path
) -> None:
    names = three.list_checkpoints()
    for name in names:
        damage(tmp_path / "root" / name)
    with pytest.raises(CheckpointError) as caught:
        three.initialize_or_restore()
    text = str(caught.value)
    assert text.startswith(f"no checkpoint in {tmp_path}/root is whole: ")
    assert all(name in text for name in names)
    assert text.endswith("to start over without them, remove the folders.")


def test_checkpoints_are_listed_and_verified(three: Any, tmp_path: Path) -> None:
    assert three.save_best("accuracy", 0.75)
    root = tmp_path / "root"
    names = three.list_checkpoints()
    (best,) = [path.name for path in (root / "best").iterdir()]
    _flip(root / names[0])
    _lose(root / names[1])
    found = {one.name: one for one in listing.listed(str(root), verified=True)}
    assert set(found) == {*names, f"best/{best}"}
    assert "the values of w are not those that were saved" in found[names[0]].fault
    assert found[names[1]].fault == "the values of w are gone"
    assert not found[names[2]].fault
    assert found[names[2]].note == "of a flow program"
    assert found[f"best/{best}"].note == "best accuracy: 0.75"
    assert not any(one.fault for one in listing.listed(str(root)))


def test_another_model_is_no_damage(three: Any) -> None:
    flow.clear_default_session()

    @flow.function
    def other() -> Any:
        return flow.get_variable("w", (7,), initializer=flow.zeros_initializer())

    manager = flow.train.SimpleCheckPointManager(three._root)
    with pytest.raises(CheckpointError, match="does not fit the jobs"):
        manager.initialize_or_restore()


SCORES = [0.5, 0.4, 0.9, float("nan"), 0.7, 0.9, 0.95]


@pytest.mark.parametrize(
    ("metric", "kept"), [("accuracy", [7]), ("score:min", [2]), ("accuracy:max:3", [3, 6, 7])]
)
def test_the_best_are_kept(metric: str, kept: list[int], count: Any, tmp_path: Path) -> None:
    manager = flow.train.SimpleCheckPointManager(str(tmp_path / "root"))
    manager.initialize_or_restore()
    assert manager.best_checkpoint() is None
    for score in SCORES:
        count().get()
        manager.save_best(metric, np.float32(score))
    folder = tmp_path / "root" / "best"
    found = sorted(float(np.fromfile(p / "w" / "out", "<f4")[0]) for p in folder.iterdir())
    assert found == kept
    path = manager.best_checkpoint(metric)
    assert path is not None
    flow.train.CheckPoint().load(path)
    assert value(count) == (7 if metric.startswith("accuracy") else 2)
    assert manager.list_checkpoints() == []


def test_the_next_program_knows_the_value_to_beat(count: Any, tmp_path: Path) -> None:
    root = str(tmp_path / "root")
    first = flow.train.SimpleCheckPointManager(root)
    first.initialize_or_restore()
    assert first.save_best("loss", 0.5)
    again = flow.train.SimpleCheckPointManager(root)
    assert not again.save_best("loss", 0.6)
    assert again.save_best("loss", 0.4)
    assert again.save_best("accuracy", 0.1)  # Another value takes the place.
    assert len(list((tmp_path / "root" / "best").iterdir())) == 1


def test_a_kill_between_save_and_removal_loses_no_best(
    count: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def killed(_: str) -> None:
        raise KilledError

    manager = flow.train.SimpleCheckPointManager(str(tmp_path / "root"))
    manager.initialize_or_restore()
    count().get()
    manager.save_best("accuracy", 0.5)
    count().get()
    with monkeypatch.context() as patch:
        patch.setattr(storage, "remove", killed)
        with pytest.raises(KilledError):
            manager.save_best("accuracy", 0.9)
    best = manager.best_checkpoint()
    assert best is not None
    assert np.fromfile(Path(best) / "w" / "out", "<f4").tolist() == [2.0]
    assert not manager.save_best("accuracy", 0.7)
    count().get()
    assert manager.save_best("accuracy", 0.95)
    assert len(list((tmp_path / "root" / "best").iterdir())) == 1


@pytest.mark.usefixtures("clean_settings")
def test_the_best_in_a_store(count: Any, folder_bucket: str) -> None:
    manager = flow.train.SimpleCheckPointManager(f"{folder_bucket}/root")
    manager.initialize_or_restore()
    for score in (0.5, 0.9, 0.7):
        count().get()
        manager.save_best("accuracy", score)
    best = manager.best_checkpoint()
    assert best is not None
    assert len(file.list_directory(f"{folder_bucket}/root/best")) == 1
    flow.train.CheckPoint().load(best)
    assert value(count) == 2


def test_values_that_can_not_be(count: Any, tmp_path: Path) -> None:
    manager = flow.train.SimpleCheckPointManager(str(tmp_path / "root"))
    with pytest.raises(MoxTypeError, match="save_best has the value 'high'; it must be a number"):
        manager.save_best("accuracy", "high")
    with pytest.raises(MoxValueError, match="save_best's metric is 'loss:0'"):
        manager.save_best("loss:0", 1.0)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("where", ["disk", "s3://bucket/copies"])
def test_a_checkpoint_is_read_copied_and_removed_like_others(
    three: Any, count: Any, tmp_path: Path, where: str
) -> None:
    root = tmp_path / "root"
    name = three.list_checkpoints()[0]
    folder = where if file.is_remote(where) else str(tmp_path / where)

    copied = moving.copy(str(root / name), folder)
    back = moving.copy(f"{copied}/", str(tmp_path / "back"))

    assert [Path(path).name for path in (copied, back)] == [name, name]
    assert [one.name for one in listing.listed(folder, verified=True)] == [name]
    assert source.read(copied).arrays["w"].tolist() == [1.0]
    files = {path.relative_to(back) for path in Path(back).rglob("*")}
    assert files == {path.relative_to(root / name) for path in (root / name).rglob("*")}
    with pytest.raises(MoxValueError, match="there is something already"):
        moving.copy(str(root / name), folder)
    flow.train.CheckPoint().load(back)
    assert value(count) == 1

    assert moving.remove([f"{root / name}/"]) == [str(root / name)]
    assert not (root / name).exists()
    assert name not in three.list_checkpoints()


def test_a_damaged_checkpoint_is_not_copied(three: Any, tmp_path: Path) -> None:
    folder = tmp_path / "root" / three.list_checkpoints()[0]
    _flip(folder)
    with pytest.raises(CheckpointError, match="damaged"):
        moving.copy(str(folder), str(tmp_path / "copies"))
    assert not list((tmp_path / "copies").iterdir())
