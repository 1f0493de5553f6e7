"""Strategies for several processes: a lost process loses nothing, and a coordinator ends all."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import warm

_HERE = Path(__file__).parent

pytestmark = pytest.mark.slow


def _launch(folder: Path, script: Path, *flags: str, given: str = "") -> str:
    result = warm.run(
        [sys.executable, "-m", "moxing", "launch", *flags, str(script), *filter(None, [given])],
        cwd=folder,
        env={**warm.forking(), "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    told = result.stdout + result.stderr
    assert result.returncode == 0, told
    return told


def _train(folder: Path) -> tuple[str, list[str]]:
    told = _launch(folder, _HERE / "multi_worker.py", "--workers=2", given=str(folder))
    return told, sorted(set(re.findall(r"weights of worker \d (.*)", told)))


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The weights of a run that nothing disturbs: those of both workers are equal."""
    _, weights = _train(tmp_path_factory.mktemp("calm"))
    assert len(weights) == 1
    return weights


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_a_job_goes_on_from_its_backup_behind_a_dead_worker(
    tmp_path: Path, calm: list[str], how: str
) -> None:
    (tmp_path / "kill").write_text(how)

    told, weights = _train(tmp_path)

    assert weights == calm
    assert "worker 1 failed first" in told, told
    assert "worker 0 then: told to stop, or lost a partner (code 143)" in told
    assert [told.count(f"epoch {n} of worker 0") for n in range(4)] == [1, 1, 2, 1]


def test_a_coordinator_trains_with_workers_and_parameter_servers(tmp_path: Path) -> None:
    told = _launch(tmp_path, _HERE / "coordinator.py", "--workers=2", "--ps=1")

    assert "equal to NumPy" in told, told
    assert "server of worker 0" in told
    assert "server of ps 0" in told
