"""Directories and checkpoints that cannot be used are refused by path, and nothing is put there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(240)


def file(directory: Path) -> None:
    (directory / "taken").write_text("mine")


def loop(directory: Path) -> None:
    (directory / "loop").symlink_to(directory / "loop")


def dangling(directory: Path) -> None:
    (directory / "link").symlink_to(directory / "taken" / "deep")
    file(directory)


def read_only(directory: Path) -> None:
    (directory / "closed").mkdir(mode=0o500)


def nothing(directory: Path) -> None:
    del directory


LOG_DIRS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "file": (
        file,
        "taken",
        "log_dir 'taken' can't be a directory: taken is a file. Choose another",
    ),
    "below a file": (
        file,
        "taken/out",
        "log_dir 'taken/out' can't be a directory: taken is a file.",
    ),
    "link to itself": (loop, "loop", "log_dir 'loop' can't be a directory: loop is a link that"),
    "below such a link": (loop, "loop/out", "log_dir 'loop/out' can't be a directory: loop is a"),
    "link below a file": (dangling, "link", "log_dir 'link' can't be a directory: link is a link"),
    "device": (
        nothing,
        "/dev/null",
        "log_dir '/dev/null' can't be a directory: /dev/null is a file.",
    ),
    "proc": (nothing, "/proc/out", "Can't write into log_dir '/proc/out': [Errno"),
    "long name": (nothing, "x" * 300, "Can't write into log_dir 'xxx"),
    "long path": (nothing, "x/" * 3000, "no path can be that long."),
    "deep path": (nothing, "x/" * 1900, "log_dir has 1900 directories inside each other."),
}


@pytest.mark.parametrize("case", LOG_DIRS)
def test_log_dir(
    case: str, refused: Callable[..., None], run: Callable[..., Any], directory: Path
) -> None:
    prepare, log_dir, told = LOG_DIRS[case]
    prepare(directory)
    before = sorted(os.listdir(directory))
    refused(lambda: run(log_dir=log_dir), told)
    refused(lambda: run(log_dir=log_dir, export_model=True), told)
    assert sorted(os.listdir(directory)) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_log_dir_without_permission(
    refused: Callable[..., None], run: Callable[..., Any], directory: Path
) -> None:
    read_only(directory)
    refused(lambda: run(log_dir="closed"), "Can't write into log_dir 'closed': [Errno 13]")


def garbage_pointer(directory: Path) -> None:
    (directory / "old").mkdir()
    (directory / "old" / "checkpoint").write_bytes(b"\x00\xff garbage :::")


def moved_pointer(directory: Path) -> None:
    (directory / "old").mkdir()
    (directory / "old" / "checkpoint").write_text('model_checkpoint_path: "/gone/model.ckpt-5"\n')


def garbage_index(directory: Path) -> None:
    (directory / "old").mkdir()
    (directory / "old" / "model.ckpt-5.index").write_text("garbage")
    (directory / "old" / "model.ckpt-5.data-00000-of-00001").write_text("garbage")


def index_only(directory: Path) -> None:
    garbage_index(directory)
    (directory / "old" / "model.ckpt-5.data-00000-of-00001").unlink()


def empty_folder(directory: Path) -> None:
    (directory / "old").mkdir()


CHECKPOINTS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "missing": (
        nothing,
        "old/model.ckpt-5",
        "No checkpoint at checkpoint_path 'old/model.ckpt-5': ",
    ),
    "missing folder": (nothing, "/gone/away", "there is no directory /gone."),
    "empty folder": (
        empty_folder,
        "old",
        "checkpoint_path 'old' is a directory without a checkpoint.",
    ),
    "garbage pointer": (garbage_pointer, "old", "checkpoint_path 'old' is a directory without a"),
    "moved pointer": (moved_pointer, "old", "names /gone/model.ckpt-5, which does not exist"),
    "garbage index": (garbage_index, "old", "No checkpoint in old is whole."),
    "garbage prefix": (garbage_index, "old/model.ckpt-5", "'old/model.ckpt-5' is damaged: "),
    "index without data": (index_only, "old/model.ckpt-5", "old/model.ckpt-5"),
    "text": (file, "taken", "checkpoint_path 'taken' is damaged"),
    "other step": (garbage_index, "old/model.ckpt-6", "old holds the checkpoints model.ckpt-5."),
    "device": (nothing, "/dev/null", "No checkpoint at checkpoint_path '/dev/null'."),
    "link to itself": (loop, "loop", "No checkpoint at checkpoint_path 'loop'."),
    "long path": (nothing, "x" * 5000, "no path can be that long."),
}


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
@pytest.mark.parametrize("case", CHECKPOINTS)
def test_checkpoint_path(
    case: str, mode: str, refused: Callable[..., None], run: Callable[..., Any], directory: Path
) -> None:
    prepare, path, told = CHECKPOINTS[case]
    prepare(directory)
    refused(lambda: run(run_mode=mode, checkpoint_path=path), told)


@pytest.mark.parametrize("mode", ["EVAL", "PREDICT"])
@pytest.mark.parametrize(
    "paths", [{}, {"log_dir": "new"}, {"log_dir": ""}, {"checkpoint_path": ""}]
)
def test_no_checkpoint(
    mode: str,
    paths: dict[str, str],
    refused: Callable[..., None],
    run: Callable[..., Any],
    directory: Path,
) -> None:
    refused(lambda: run(run_mode=mode, **paths), "You must provide a checkpoint: log_dir")
    assert list(directory.iterdir()) == []
