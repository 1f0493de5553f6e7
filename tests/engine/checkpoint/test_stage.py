"""Stages of dead runs go; those of living ones, and the one in use, stay."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from moxing.engine.checkpoint import stage


def left(directory: Path, pid: int | str) -> Path:
    path = directory / f".mox-tmp-{pid}@{socket.gethostname()}.abc"
    path.mkdir()
    return path


def test_only_stages_of_the_dead_are_swept(tmp_path: Path) -> None:
    living = left(tmp_path, os.getppid())
    own_number = left(tmp_path, os.getpid())
    impossible = left(tmp_path, "9" * 20)
    with stage.stage(str(tmp_path)) as own:
        stage.sweep(str(tmp_path), own)
        assert os.path.isdir(own)
    assert living.exists()
    assert not own_number.exists()
    assert not impossible.exists()
