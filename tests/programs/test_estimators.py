"""Programs of Estimators in the manner of 2018 to 2020, unmodified: alone, together, killed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import warm

from moxing.engine.checkpoint.names import MANIFEST

FOLDER = Path(__file__).parent / "estimators"
LIMIT_SECONDS = 400
pytestmark = pytest.mark.slow


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "moxing", *map(str, arguments)],
        cwd=cwd,
        env={**warm.forking(), "TF_CPP_MIN_LOG_LEVEL": "2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
    )


def test_each_ends_by_itself(tmp_path: Path) -> None:
    scripts = [FOLDER / name for name in ("fine_tuning.py", "tagger.py")]
    result = run("run", FOLDER.parent / "tf1_runner.py", tmp_path, *scripts, cwd=tmp_path)
    endings = dict(re.findall(r"^PROGRAM (\w+): (.+) \([0-9.]+ s\)$", result.stdout, re.MULTILINE))
    assert endings == {"fine_tuning": "ended", "tagger": "ended"}, result.stdout[-5000:]


def test_a_trainer_package_starts_as_a_module(tmp_path: Path) -> None:
    result = run("run", "-m", "trainer.task", "--job-dir", tmp_path / "job", cwd=FOLDER)
    assert result.returncode == 0, result.stdout[-5000:]
    assert f"Model dir: {tmp_path}/job" in result.stdout


def test_two_workers_and_a_parameter_server(tmp_path: Path) -> None:
    program = FOLDER / "wide_and_deep.py"
    result = run("launch", "--workers=2", "--ps=1", program, "--folder", tmp_path, cwd=tmp_path)
    assert result.returncode == 0, result.stdout[-5000:]
    assert "global_step: 120" in result.stdout
    assert (tmp_path / "model" / "model.ckpt-120.index").exists()


def test_killed_and_started_again(tmp_path: Path) -> None:
    program = FOLDER / "wide_and_deep.py"
    saved = tmp_path / "model" / f"model.ckpt-60{MANIFEST}"
    with (tmp_path / "first.log").open("w") as log:
        process = warm.Popen(
            [sys.executable, "-m", "moxing", "run", program, "--folder", tmp_path],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            limit = time.monotonic() + LIMIT_SECONDS
            while not saved.exists():
                assert process.poll() is None, (tmp_path / "first.log").read_text()[-3000:]
                assert time.monotonic() < limit
                time.sleep(0.1)
        finally:
            process.kill()
            process.wait()
    assert not (tmp_path / "model" / "model.ckpt-120.index").exists()
    before = saved.stat().st_mtime_ns
    result = run("run", program, "--folder", tmp_path, cwd=tmp_path)
    assert result.returncode == 0, result.stdout[-5000:]
    assert saved.stat().st_mtime_ns == before  # A run from the start would write it again.
    assert "global_step: 120" in result.stdout
