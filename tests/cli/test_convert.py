"""Folders that can't be read or written end `mox convert` with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.cli import convert


@pytest.mark.parametrize("to", ["tfrecord", "ofrecord"])
@pytest.mark.parametrize("target", ["/proc/x", "/dev/null/x", "/proc/self/x", "x" * 300])
def test_a_destination_that_cannot_be_made(
    data_dir: Path, target: str, to: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(data_dir / "flowers" / "eval")

    assert convert.main([source, target, f"--to={to}"]) == 1

    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert line.startswith("mox: error: ")
    assert line.endswith(
        ". SRC must be a folder that this user may read, and DST one that this user may make and"
        " write to."
    )
