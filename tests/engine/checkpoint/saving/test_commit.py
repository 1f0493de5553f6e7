"""Wherever a save stops, the newest checkpoint is whole and no older than the last commit."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.checkpoint.restoring.verify import fault
from moxing.engine.checkpoint.saving import copies
from moxing.errors import CheckpointError
from moxing.framework.owners import machine, started

FULL = f"[Errno {errno.ENOSPC}] No space left on device. Free space on that disk."
INTACT = "Checkpoints saved earlier are as they were."


class _Failing:
    """Lets the first `calls` calls of some functions of `os` through, and the next one fail."""

    def __init__(self, patch: pytest.MonkeyPatch, calls: int, error: BaseException) -> None:
        self.left = calls
        self.error = error
        for name in ("replace", "fsync", "link", "remove"):
            patch.setattr(f"os.{name}", self._wrapped(getattr(os, name)))

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == -1:
                raise self.error
            return function(*args, **kwargs)

        return call


def _caught(function: Callable[[], Any]) -> BaseException | None:
    try:
        function()
    except (CheckpointError, KeyboardInterrupt) as error:
        return error
    return None


def _full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [_full(), KeyboardInterrupt()], ids=["full disk", "Ctrl-C"])
@pytest.mark.parametrize("step", [20, 10], ids=["new step", "same step"])
@pytest.mark.parametrize("method", ["save", "save_copies"])
def test_a_save_that_fails_at_any_point(
    monkeypatch: pytest.MonkeyPatch,
    make_model: Callable[..., Any],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    read_value: Callable[..., float],
    error: BaseException,
    step: int,
    method: str,
) -> None:
    monkeypatch.setattr(copies, "LEAST", 0)
    start = make_model()
    start.save(5, value=0.5)
    start.save(10, value=1.0)
    saved = shutil.copytree(tmp_path, tmp_path_factory.mktemp("saved") / "run")
    model = make_model()
    for calls in range(100):
        with pytest.MonkeyPatch.context() as patch:
            failing = _Failing(patch, calls, error)
            save = getattr(model, method)
            caught = _caught(lambda save=save: save(step, value=2.0))
        found = newest(tmp_path)
        assert found is not None
        assert found.step in (10, step)
        assert not list(tmp_path.glob(".mox-tmp-*"))
        value = read_value(found.prefix)
        if failing.left >= 0:
            assert (caught, found.step, value) == (None, step, 2.0)
            assert calls >= 10
            assert not list(tmp_path.glob("replaced.*"))
            return
        _check(caught, error, f"{tmp_path}/model.ckpt-{step}")
        if value != 2.0:
            assert (value, caught is not None) == (1.0, True)
            assert (tmp_path / "checkpoint").read_bytes() == (saved / "checkpoint").read_bytes()
            assert fault(str(tmp_path / "model.ckpt-10")) is None
        if caught is None:
            model = make_model()
        shutil.rmtree(tmp_path)
        shutil.copytree(saved, tmp_path)
    pytest.fail("the save never got through")


def _check(caught: BaseException | None, error: BaseException, prefix: str) -> None:
    """Nothing is raised only where cleaning up behind the commit is all that failed."""
    if isinstance(error, KeyboardInterrupt):
        assert caught is error
    elif caught is not None:
        assert str(caught) == f"Could not save checkpoint {prefix}: {FULL} {INTACT}"


def test_a_save_after_a_failed_one_goes_through(
    make_model: Callable[..., Any], tmp_path: Path, read_value: Callable[..., float]
) -> None:
    model = make_model(keep=1)
    model.save(1, value=1.0)
    for calls in (0, 4, 8):
        with pytest.MonkeyPatch.context() as patch:
            _Failing(patch, calls, _full())
            with pytest.raises(CheckpointError):
                model.save(2, value=2.0)
    saved = model.save(2, value=3.0)
    assert newest(tmp_path) == saved
    assert read_value(saved.prefix) == 3.0
    assert {path.name.split(".")[1] for path in tmp_path.glob("model.*")} == {"ckpt-2"}


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_when_tensorflow_itself_cannot_write(
    make_model: Callable[..., Any], tmp_path: Path
) -> None:
    model = make_model({"w": np.zeros(10_000, np.float32)})
    first = model.save(1)
    names = sorted(os.listdir(tmp_path))
    with _largest_file(20_000), pytest.raises(CheckpointError) as caught:
        model.save(2)
    assert str(caught.value) == (
        f"Could not save checkpoint {tmp_path}/model.ckpt-2: [Errno 27] File too large. Raise the"
        f" limit on the size of files (ulimit -f). {INTACT}"
    )
    assert newest(tmp_path) == first
    assert sorted(os.listdir(tmp_path)) == names


def test_the_directory_is_gone(make_model: Callable[..., Any], tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    model = make_model(directory=directory)
    model.save(1)
    shutil.rmtree(directory)
    with pytest.raises(CheckpointError) as caught:
        model.save(2)
    assert str(caught.value) == (
        f"Could not save checkpoint {directory}/model.ckpt-2: [Errno 2] No such file or directory."
        f" The directory, or a part of its path, has been removed during the run. {INTACT}"
    )
    assert not directory.exists()


def test_the_stages_of_killed_runs_are_removed(
    make_model: Callable[..., Any], tmp_path: Path
) -> None:
    parent = os.getppid()
    dead = tmp_path / f".mox-tmp-999999999-1-{machine()}.x"
    alive = tmp_path / f".mox-tmp-{parent}-{started(parent)}-{machine()}.x"
    elsewhere = tmp_path / ".mox-tmp-1-1-0123456789abcdef.x"
    forgotten = tmp_path / ".mox-tmp-1-1-0123456789abcdef.y"
    for path in (dead, alive, elsewhere, forgotten):
        path.mkdir()
        (path / "model.ckpt-3.index").write_bytes(b"half")
    os.utime(forgotten, (0, 0))
    make_model().save(1)
    assert sorted(tmp_path.glob(".mox-tmp-*")) == sorted([alive, elsewhere])


def test_what_killed_runs_half_deleted_is_removed(
    make_model: Callable[..., Any], foreign: Callable[..., str], tmp_path: Path
) -> None:
    make_model().save(1)
    foreign({"b": np.float32(1)}, step=2)
    os.remove(tmp_path / "model.ckpt-1.index")
    remains = ["model.ckpt-3.data-00000-of-00001", "replaced.model.ckpt-4.meta"]
    others = ["mine.ckpt-5.data-00000-of-00001", "model.ckpt-6", "model.ckpt-6.meta"]
    for name in remains + others:
        (tmp_path / name).write_bytes(b"x")
    saved = make_model().save(7)
    names = set(os.listdir(tmp_path))
    assert names >= {*others, "model.ckpt-2.index"}
    assert not names & {*remains, "model.ckpt-1.manifest.json", "model.ckpt-1.meta"}
    assert newest(tmp_path) == saved


def test_a_step_of_another_program_is_replaced(
    make_model: Callable[..., Any],
    foreign: Callable[..., str],
    tmp_path: Path,
    read_value: Callable[..., float],
) -> None:
    foreign({"w": np.float32(1), "b": np.float32(1)}, step=7)
    (tmp_path / "model.ckpt-7.data-00001-of-00002").write_bytes(b"of a sharded one")
    saved = make_model().save(7, value=2.0)
    assert newest(tmp_path) == saved
    assert read_value(saved.prefix) == 2.0
    assert not list(tmp_path.glob("*.data-00001-of-00002"))


def test_saving_the_same_values_again_touches_only_the_manifest(
    make_model: Callable[..., Any],
) -> None:
    saved = make_model().save(7, value=2.0, extra={"position": 1})
    inode = os.stat(saved.prefix + ".index").st_ino
    again = make_model().save(7, value=2.0, extra={"position": 2})
    assert os.stat(again.prefix + ".index").st_ino == inode


def test_without_hard_links(
    make_model: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    make_model().save(1, value=1.0)
    model = make_model()
    model.save(1, value=2.0)
    saved = model.save(2)
    assert newest(tmp_path) == saved
    assert os.path.getsize(saved.prefix + ".meta") > 0
