"""A file is the old one or the new one, whatever happens while the new one is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from moxing.framework.atomic import is_unfinished, replace, replacing


def test_parts_take_the_place_of_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    replace(str(path), iter([b"ne", b"w"]), sync=True)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def parts() -> Iterator[bytes]:
        yield b"half"
        found = [name for name in os.listdir(tmp_path) if name != "file"]
        assert [is_unfinished(name) for name in found] == [True]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        replace(str(path), parts())
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_it_is_written_aside_where_that_is_asked(tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    with replacing(str(tmp_path / "file"), aside=str(aside)) as fd:
        assert len(os.listdir(aside)) == 1
        os.write(fd, b"new")
    assert os.listdir(aside) == []
    assert (tmp_path / "file").read_bytes() == b"new"


def test_permissions_are_those_of_any_new_file_or_of_the_one_named(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.touch(0o600)
    before = os.umask(0o022)
    try:
        replace(str(tmp_path / "new"), [b""])
        with replacing(str(tmp_path / "like"), like=str(private)):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "like").stat().st_mode & 0o777 == 0o600
