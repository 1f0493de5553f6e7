"""Numbers that no machine could serve are refused before anything is made of them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from moxing.cli import launch

MANY = ",".join(f"h{i}" for i in range(2001))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--workers=99999999"], "--workers and --ps ask for 99999999 tasks; 100000 is the most."),
        (["--workers=1", "--ps=99999999", "--emit=k8s", "--image=i"], "100000 is the most."),
        (["--workers=99999999", "--emit=slurm"], "100000 is the most."),
        (["--num_gpus=99999999"], "--num_gpus=99999999: no process has more than 64 devices."),
        ([f"--hosts={MANY}"], "--hosts with 2001 machines and 2001 tasks: 2000 is the most"),
        (["--hosts=a,b", "--workers=2001"], "--hosts with 2 machines and 2001 tasks"),
        (["--workers=257"], "257 processes on one machine are too many; 256 is the most."),
    ],
)
def test_too_many(
    flags: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    began = time.monotonic()
    assert launch.main([*flags, "train.py"]) in (1, 2)
    told = capsys.readouterr().err
    assert message in told
    assert len(told) < 1000
    assert time.monotonic() - began < 5
