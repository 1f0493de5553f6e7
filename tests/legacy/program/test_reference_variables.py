"""`mox run`: a program's own graphs have the variables that TensorFlow 1.x made by default."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = Path(__file__).parent / "programs" / "references.py"


@pytest.mark.slow
def test_variables_are_references_but_in_runs(tmp_path: Path) -> None:
    done = warm.run(
        [sys.executable, "-m", "moxing", "run", str(PROGRAM), str(tmp_path / "log")],
        cwd=tmp_path,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert done.returncode == 0, done.stderr
    cases = ["by_name", "grows", "supervised", "read_again", "sparse", "layers", "keras"]
    cases += ["asked", "runs"]
    right = [line for line in done.stdout.splitlines() if line.startswith("right: ")]
    assert right == [f"right: {name}" for name in cases]
