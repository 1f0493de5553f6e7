"""A log_dir is made, or the message says what is in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moxing.engine.checkpoint.directory import ensure_directory, refuse_in_the_way
from moxing.errors import MoxRuntimeError, MoxValueError


def test_directories_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_directory(str(tmp_path / "a" / "b"))
    ensure_directory(str(tmp_path / "a" / "b"))
    monkeypatch.chdir(tmp_path)
    ensure_directory("c/d")
    assert (tmp_path / "a" / "b").is_dir()
    assert (tmp_path / "c" / "d").is_dir()
    assert os.listdir(tmp_path / "a" / "b") == []


def test_an_empty_string() -> None:
    with pytest.raises(MoxValueError) as caught:
        ensure_directory("")
    assert str(caught.value) == (
        "log_dir is an empty string. Give it a directory, or None to write no files."
    )


@pytest.mark.parametrize("inside", ["", "/run"])
def test_a_file_in_the_way(tmp_path: Path, inside: str) -> None:
    file = tmp_path / "model"
    file.touch()
    with pytest.raises(MoxValueError) as caught:
        ensure_directory(f"{file}{inside}", "train_url")
    assert str(caught.value) == (
        f"train_url '{file}{inside}' can't be a directory: {file} is a file. Choose another"
        " train_url."
    )


def test_the_system_refuses() -> None:
    with pytest.raises(MoxRuntimeError) as caught:
        ensure_directory("/proc/run")
    assert str(caught.value) == (
        "Can't write into log_dir '/proc/run': [Errno 2] No such file or directory. Make it"
        " writable, or choose another log_dir."
    )


def test_a_directory_that_cannot_be_written() -> None:
    with pytest.raises(MoxRuntimeError, match=r"^Can't write into log_dir '/proc': \[Errno"):
        ensure_directory("/proc")


@pytest.mark.parametrize("name", ["checkpoint", "model.ckpt-7.index", "m-7.data-00000-of-00001"])
def test_a_directory_or_a_looping_link_where_a_checkpoint_has_a_file(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "model.ckpt-7").mkdir()
    (tmp_path / "1").mkdir()
    refuse_in_the_way(str(tmp_path))
    path = tmp_path / name
    path.mkdir()
    with pytest.raises(MoxRuntimeError) as caught:
        refuse_in_the_way(str(tmp_path))
    assert str(caught.value) == (
        f"{path} is a directory, where checkpoints have a file. Move it away, or choose another"
        " log_dir."
    )
    path.rmdir()
    path.symlink_to(path)
    with pytest.raises(MoxRuntimeError, match="is a link that leads to itself, where checkpoints"):
        refuse_in_the_way(str(tmp_path))
