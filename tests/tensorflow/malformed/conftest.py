"""What every refusal must fulfill: a message of ours, no hang, nothing half done left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import filelock
import pytest

from moxing.engine.checkpoint.restoring.newest import newest
from moxing.errors import MoxError


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory of the test. After the test no lock and nothing unfinished is in it."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for path in tmp_path.rglob("*"):
        assert ".unfinished" not in path.name, f"an export was left half done: {path}"
        assert path.name != ".mox.lock.json", f"a lock was left: {path}"
        if path.name == ".mox.lock":
            with filelock.FileLock(path, blocking=False):
                pass
        if path.suffix == ".index" and path.parent.name == "out":
            assert newest(path.parent) is not None, f"a checkpoint was left half done: {path}"


@pytest.fixture
def refused() -> Callable[..., None]:
    """`refused(function, *words)`: calling it fails with words of ours that say all of `words`."""

    def check(function: Callable[[], Any], *words: str) -> None:
        error = _error_of(function)
        notes = [note for note in getattr(error, "__notes__", []) if note.startswith("openmox: ")]
        assert isinstance(error, MoxError) or notes, f"a raw {type(error).__name__}: {error}"
        told = "\n".join([str(error), *notes])
        for word in words:
            assert word in told
        assert not isinstance(error, MoxError) or len(str(error)) < 1500

    return check


def _error_of(function: Callable[[], Any]) -> Exception:
    try:
        result = function()
    except Exception as error:
        return error
    raise AssertionError(f"it was accepted and gave {result!r}")
