"""Stages of dead runs go; those of living ones, and the one in use, stay."""

from __future__ import annotations

import os
from pathlib import Path

from moxing.engine.checkpoint.saving import stage
from moxing.framework.owners import Owner, machine, started


def left(directory: Path, owner: object) -> Path:
    path = directory / f".mox-tmp-{owner}.abc"
    path.mkdir()
    return path


def test_only_stages_of_the_dead_are_swept(tmp_path: Path) -> None:
    parent = os.getppid()
    living = left(tmp_path, Owner(parent, started(parent), machine()))
    own_number = left(tmp_path, Owner(os.getpid(), "1", machine()))
    impossible = left(tmp_path, Owner(int("9" * 19), "1", machine()))
    with stage.stage(str(tmp_path)) as own:
        stage.sweep(str(tmp_path), own)
        assert os.path.isdir(own)
    assert living.exists()
    assert not own_number.exists()
    assert not impossible.exists()


def test_a_name_that_tells_no_owner_stays_for_a_day(tmp_path: Path) -> None:
    new, old = left(tmp_path, "17@a-host"), left(tmp_path, "18@a-host")
    os.utime(old, (0, 0))
    with stage.stage(str(tmp_path)) as own:
        stage.sweep(str(tmp_path), own)
    assert new.exists()
    assert not old.exists()
