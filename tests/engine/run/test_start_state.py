"""The start that all processes agree on, and a worker whose own folder is further."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest_unread
from moxing.engine.run import start_state
from moxing.engine.run.start_state import StartState

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import adam, execute, messages  # noqa: E402


def warned(unused: Checkpoint | None, step: int, log: pytest.LogCaptureFixture) -> list[str]:
    log.clear()
    found = StartState(False, step, 0, 0, 0, 0, False, 0, True)
    start_state.warn_of_later(unused, found)
    return messages(log)


def test_a_worker_says_that_its_folder_holds_a_later_checkpoint(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    assert newest_unread(f"{tmp_path}/none") is None
    assert newest_unread(str(tmp_path)) is None
    execute(log_dir=tmp_path, max_steps=4, optimizer_fns=[adam])
    unused = newest_unread(str(tmp_path))
    assert unused is not None

    assert warned(None, 0, log) == []
    assert warned(unused, 4, log) == []  # One folder for all, or copies of it.
    (line,) = warned(unused, 0, log)
    assert line.startswith(
        f"This worker has {tmp_path}/model.ckpt-4, but the job starts from step 0: the log_dir of"
        " worker 0 is on another machine"
    )


def test_a_damaged_checkpoint_is_no_later_one(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    """Worker 0 skips it too, and says so."""
    execute(log_dir=tmp_path, max_steps=4, optimizer_fns=[adam])
    os.truncate(tmp_path / "model.ckpt-4.data-00000-of-00001", 10)
    assert warned(newest_unread(str(tmp_path)), 0, log) == []
