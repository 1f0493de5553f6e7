"""Checkpoints whose save was killed, and what is said of those that do not fit."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warm

import moxing.flow as flow
from moxing.engine.checkpoint import durable
from moxing.errors import CheckpointError, MoxTypeError, MoxValueError
from moxing.framework.file import publish
from moxing.framework.file.copying import trees

SIZE = 5_000_000
PROGRAM = f"""\
import oneflow as flow


@flow.function
def job():
    return [flow.get_variable(n, ({SIZE},), initializer=flow.ones_initializer()) for n in "abc"]


point = flow.train.CheckPoint()
point.init()
print("started", flush=True)
number = 0
while True:
    point.save("checkpoint%d" % number)
    number += 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.35, 0.9])
def test_a_save_that_is_killed_leaves_whole_checkpoints_only(tmp_path: Path, delay: float) -> None:
    """The program saves all the time, so a kill comes inside a save."""
    (tmp_path / "save.py").write_text(PROGRAM)
    process = warm.Popen(
        [sys.executable, "-m", "moxing", "run", "save.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    while not (tmp_path / "checkpoint0").exists():
        time.sleep(0.01)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=240)

    whole = [path for path in tmp_path.iterdir() if path.name.startswith("checkpoint")]
    assert whole
    for folder in whole:
        assert (folder / "snapshot_done").exists()
        assert [(folder / name / "out").stat().st_size for name in "abc"] == [4 * SIZE] * 3
    _job(SIZE)
    flow.train.CheckPoint().load(str(max(whole)))
    manager = flow.train.SimpleCheckPointManager(str(tmp_path), "checkpoint")
    assert set(manager.list_checkpoints()) == {path.name for path in whole}


def _job(size: int, names: str = "abc") -> Any:
    @flow.function
    def job() -> Any:
        one = flow.ones_initializer()
        return [flow.get_variable(name, (size,), initializer=one) for name in names]

    return job


def test_every_variable_that_is_missing_or_of_another_size_is_named(tmp_path: Path) -> None:
    _job(3, "ab")
    point = flow.train.CheckPoint()
    point.init()
    point.save(str(tmp_path / "old"))
    flow.clear_default_session()
    job = _job(4, "abcd")
    point = flow.train.CheckPoint()

    with pytest.raises(CheckpointError) as caught:
        point.load(str(tmp_path / "old"), partial=True)
    assert str(caught.value) == (
        f"checkpoint {tmp_path}/old does not fit the jobs: it lacks c, d; of another size are a (12"
        " bytes; the variable has 16), b (12 bytes; the variable has 16)."
    )
    with pytest.raises(RuntimeError, match="before its variables have values"):
        job()


def test_a_missing_folder_and_a_wrong_path_are_named(tmp_path: Path) -> None:
    _job(1)
    point = flow.train.CheckPoint()

    with pytest.raises(CheckpointError, match=f"there is no checkpoint {tmp_path}/none: no such"):
        point.load(str(tmp_path / "none"))
    with pytest.raises(MoxTypeError, match="a checkpoint's path is a str, not"):
        point.load(tmp_path)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match="there is nothing to save: call CheckPoint"):
        point.save(str(tmp_path / "early"))
    point.init()
    with pytest.raises(MoxValueError, match=f"there is no folder {tmp_path}/no."):
        point.save(str(tmp_path / "no" / "such"))


def test_a_checkpoint_without_its_mark_loads_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As folders that were put together by hand, which the original loads."""
    job = _job(2)
    point = flow.train.CheckPoint()
    point.init()
    point.save(str(tmp_path / "mine"))
    point.load(str(tmp_path / "mine"))
    assert caplog.records == []
    (tmp_path / "mine" / "snapshot_done").unlink()

    point.load(str(tmp_path / "mine"))

    assert [record.getMessage() for record in caplog.records] == [
        f"checkpoint {tmp_path}/mine has no snapshot_done: its save may have been cut short."
    ]
    assert job().get()[0].tolist() == [1, 1]


def test_names_may_have_slashes_and_any_letters(tmp_path: Path) -> None:
    @flow.function
    def job() -> Any:
        return flow.get_variable("层/权重 1", (2,), initializer=flow.constant_initializer(3.0))

    point = flow.train.CheckPoint()
    point.init()
    point.save(str(tmp_path / "存档"))
    assert (tmp_path / "存档" / "层" / "权重 1" / "out").exists()
    point.load(str(tmp_path / "存档"))
    assert job().get().tolist() == [3, 3]


def test_a_manager_goes_on_from_the_newest_whole_checkpoint(count: Any, tmp_path: Path) -> None:
    manager = flow.train.SimpleCheckPointManager(str(tmp_path / "root"))
    manager.initialize_or_restore()
    for _ in range(2):
        count().get()
        manager.save()
    (tmp_path / "root" / "snapshot_99999999").mkdir()  # Newer by its name, but torn.

    assert len(manager.list_checkpoints()) == 2
    count().get()
    manager.initialize_or_restore()
    assert count().get().tolist() == [2]


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EROFS])
def test_a_save_that_the_disk_refuses_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int
) -> None:
    """Nothing of it stays, and what was saved before does."""
    _job(2)
    point = flow.train.CheckPoint()
    point.init()
    point.save(str(tmp_path / "first"))

    def refuse(path: str, content: bytes) -> None:
        raise OSError(fault, os.strerror(fault), path)

    monkeypatch.setattr(durable, "write", refuse)
    with pytest.raises(CheckpointError) as caught:
        point.save(str(tmp_path / "second"))
    assert str(caught.value) == (
        f"cannot save {tmp_path}/second: {os.strerror(fault)}. Nothing is left of this save;"
        " earlier checkpoints are whole."
    )
    assert os.listdir(tmp_path) == ["first"]
    point.load(str(tmp_path / "first"))


def _saved(url: str) -> Any:
    """Saves 1, 1 and 1, 1 to a store."""
    job = _job(2, "ab")
    point = flow.train.CheckPoint()
    point.init()
    point.save(url)
    return job


def test_a_checkpoint_in_a_store_is_whole_when_save_returns(store: Path) -> None:
    url, folder = "s3://bucket/new/one", store / "bucket" / "new" / "one"
    job = _saved(url)
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    ones = np.ones(2, np.float32).tobytes()
    assert found.pop(".digests.json").startswith(b'{"a": "crc32:')
    assert found.pop("shapes.json") == b'{\n"a": ["float32", [2]],\n"b": ["float32", [2]]\n}\n'
    assert found == {"a/out": ones, "b/out": ones, "snapshot_done": b""}
    with pytest.raises(MoxValueError) as caught:
        flow.train.CheckPoint().save(url)
    assert str(caught.value) == (
        f"cannot save {url}: there is something already. Save elsewhere or delete it."
    )

    (folder / ".digests.json").unlink()  # As one that was copied there.
    (folder / "a" / "out").write_bytes((2 * np.ones(2, np.float32)).tobytes())
    flow.train.CheckPoint().load(url)
    assert [value.tolist() for value in job().get()] == [[2, 2], [1, 1]]
    assert not (store.parent / "s3:").exists()
    assert list((store.parent / "staging").iterdir()) == []


def test_a_checkpoint_in_a_store_that_is_not_whole_or_damaged_is_not_loaded(store: Path) -> None:
    url, folder = "s3://bucket/one", store / "bucket" / "one"
    _saved(url)
    point = flow.train.CheckPoint()
    (folder / "b" / "out").write_bytes(bytes(8))
    with pytest.raises(CheckpointError) as caught:
        point.load(url)
    assert str(caught.value) == (
        f"checkpoint {url} is damaged: the values of b are not those that were saved. If you"
        f" replaced them, delete {url}/.digests.json."
    )
    (folder / "b" / "out").unlink()
    with pytest.raises(CheckpointError, match="does not fit the jobs: it lacks b. load"):
        point.load(url)
    point.load(url, partial=True)
    (folder / "snapshot_done").unlink()
    with pytest.raises(CheckpointError) as caught:
        point.load(url)
    assert str(caught.value) == (
        f"checkpoint {url} has no snapshot_done: its save was cut short, or goes on. If all of it"
        " is there, put an empty file of that name into it."
    )
    with pytest.raises(CheckpointError, match="there is no checkpoint s3://bucket/none: no such"):
        point.load("s3://bucket/none")


def test_a_save_to_a_store_that_is_killed_can_be_made_again(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "s3://bucket/root/snapshot_1"

    class KilledError(BaseException):
        pass

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(publish, "_undo", killed)
        patch.setattr(trees, "copy_files", killed)  # All but the last file are there.
        with pytest.raises(KilledError):
            _saved(url)
    assert (store / "bucket" / "root" / "snapshot_1" / "a" / "out").exists()
    manager = flow.train.SimpleCheckPointManager("s3://bucket/root")
    assert manager.list_checkpoints() == []
    flow.train.CheckPoint().save(url)
    assert manager.list_checkpoints() == ["snapshot_1"]
    manager.initialize_or_restore()
    manager.save()
    assert len(manager.list_checkpoints()) == 2


@pytest.mark.slow
def test_checkpoints_are_saved_to_s3_and_loaded(bucket: str) -> None:
    manager = flow.train.SimpleCheckPointManager(f"{bucket}/root")
    job = _job(2, "ab")
    manager.initialize_or_restore()
    manager.save()
    flow.train.CheckPoint().save(f"{bucket}/one")
    flow.clear_default_session()
    job = _job(2, "ab")
    manager = flow.train.SimpleCheckPointManager(f"{bucket}/root")
    assert len(manager.list_checkpoints()) == 1
    manager.initialize_or_restore()
    flow.train.CheckPoint().load(f"{bucket}/one/")
    assert [value.tolist() for value in job().get()] == [[1, 1], [1, 1]]


@pytest.mark.parametrize("numbers", [(0, 7, 9), (3, 4, 11), (0, 1, 0)])
def test_unnamed_layers_are_found_by_their_order_where_a_checkpoint_counts_otherwise(
    tmp_path: Path, numbers: tuple[int, int, int]
) -> None:
    """The original counts all operations with one counter; earlier versions wrote lower case."""
    first, second, dense = numbers
    kinds = ("conv2d", "dense") if numbers[2] == 0 else ("Conv2D", "Dense")
    values = {
        f"{kinds[0]}_{first}-weight": np.full((2, 3, 1, 1), 1.0),
        f"{kinds[0]}_{second}-weight": np.full((2, 2, 1, 1), 2.0),
        f"{kinds[1]}_{dense}-weight": np.full((4, 2), 3.0),
        f"{kinds[1]}_{dense}-bias": np.full((4,), 4.0),
        "System-Train-TrainStep-other": np.zeros(2),
    }
    for name, value in values.items():
        (tmp_path / "saved" / name).mkdir(parents=True)
        value.astype("<f4").tofile(tmp_path / "saved" / name / "out")
    (tmp_path / "saved" / "snapshot_done").touch()

    @flow.function
    def job(x: Any = flow.FixedTensorDef((1, 3, 1, 1))) -> Any:  # noqa: B008
        x = flow.layers.conv2d(x, 2, use_bias=False)
        x = flow.layers.conv2d(x, 2, use_bias=False)
        return flow.layers.dense(flow.reshape(x, (1, 2)), 4)

    flow.train.CheckPoint().load(str(tmp_path / "saved"))

    assert job(np.ones((1, 3, 1, 1), np.float32)).get().tolist() == [[3 * 2 * 2 * 3 * 2 + 4] * 4]
