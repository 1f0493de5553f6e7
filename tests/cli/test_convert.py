"""Folders that can't be read or written end `mox convert` with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from moxing.cli import convert


@pytest.mark.parametrize("to", ["tfrecord", "ofrecord"])
@pytest.mark.parametrize("target", ["/proc/x", "/dev/null/x", "/proc/self/x", "x" * 300])
def test_a_destination_that_cannot_be_made(
    tmp_path: Path, target: str, to: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tree" / "a").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(tmp_path / "tree" / "a" / "x.png")

    assert convert.main([str(tmp_path / "tree"), target, f"--to={to}"]) == 1

    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert line.startswith("mox: error: ")
    assert line.endswith(
        ". SRC must be a folder that this user may read, and DST one that this user may make and"
        " write to."
    )
