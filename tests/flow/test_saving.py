"""Checkpoints whose save was killed, and what is said of those that do not fit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import moxing.flow as flow
from moxing.errors import CheckpointError, MoxTypeError, MoxValueError

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
    process = subprocess.Popen(
        [sys.executable, "-m", "moxing", "run", "save.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    while not (tmp_path / "checkpoint0").exists():
        time.sleep(0.01)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)

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


def test_a_manager_goes_on_from_the_newest_whole_checkpoint(tmp_path: Path) -> None:
    @flow.function
    def count() -> Any:
        flow.config.train.primary_lr(1.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
        flow.losses.add_loss(w * -1.0)
        return w

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
