"""Programs in the manner of public ones of 2016 to 2020 train to what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm

FOLDER = Path(__file__).parent / "tf1"
PROGRAMS = sorted(path.name for path in FOLDER.glob("*.py"))
ALONE = "mlp_python2.py"
GROUPS = 4
TIMEOUT_SECONDS = 550


def _environment(data_dir: Path) -> dict[str, str]:
    return {**os.environ, "DIGITS": str(data_dir / "mnist"), "TF_CPP_MIN_LOG_LEVEL": "3"}


def test_there_are_programs_of_many_kinds() -> None:
    assert len(PROGRAMS) >= 40
    for name in PROGRAMS:
        first = (FOLDER / name).read_text(encoding="utf-8").partition("\n")[0]
        assert re.fullmatch(r'"""[^:]+(?:: .+)?: [^:]+\."""', first), name


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_programs_end(group: int, tmp_path: Path, data_dir: Path) -> None:
    scripts = [FOLDER / name for name in PROGRAMS if name != ALONE][group::GROUPS]
    runner = FOLDER.parent / "tf1_runner.py"
    result = warm.run(
        [sys.executable, "-m", "moxing", "run", runner, tmp_path, *scripts],
        env=_environment(data_dir),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    endings = dict(re.findall(r"^PROGRAM (\w+): (.+) \([0-9.]+ s\)$", result.stdout, re.MULTILINE))
    failed = {name: ending for name, ending in endings.items() if ending != "ended"}
    assert set(endings) == {script.stem for script in scripts}, result.stdout[-3000:]
    assert not failed, result.stdout[-8000:]


@pytest.mark.slow
def test_a_program_of_python_2_runs_by_itself(tmp_path: Path, data_dir: Path) -> None:
    result = warm.run(
        [sys.executable, "-m", "moxing", "run", FOLDER / ALONE],
        env=_environment(data_dir),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("accuracy 0.9")
    assert "mlp_python2.py is Python 2 (line " in result.stderr
