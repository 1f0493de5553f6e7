"""A pipe that nobody writes to is refused, and one that a shell has opened is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moxing.framework import named_pipes


def test_a_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "file").touch()
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="it is a named pipe, and no file"):
            named_pipes.refuse(tmp_path / name)
    named_pipes.refuse(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        named_pipes.refuse(tmp_path / "absent")


def test_a_pipe_that_is_open_already() -> None:
    read, write = os.pipe()
    named_pipes.refuse(f"/dev/fd/{read}")
    os.close(read), os.close(write)
