"""Variables of a pod, a notebook or a Slurm step in which a job is launched."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from moxing.cluster.resolve import resolve
from moxing.launch import inherited
from moxing.launch.plan import Plan, environment
from moxing.launch.supervise import supervise

POD = {
    "TF_CONFIG": '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}',
    "DLS_TASK_NUMBER": "2",
    "DLS_TASK_INDEX": "0",
    "BATCH_CUSTOM0_HOSTS": "a:1",
    "BATCH_CUSTOM1_HOSTS": "b:1",
    "VC_WORKER_HOSTS": "a,b",
    "MA_TASK_NAME": "worker",
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "8",
}
KEPT = {"DLS_LOCAL_CACHE_PATH": "/cache", "MA_JOB_DIR": "/job", "SLURM_SUBMIT_DIR": "/s", "A": "b"}


def test_what_describes_another_cluster_is_left_out() -> None:
    result = environment({**POD, **KEPT})
    assert {name: result.get(name) for name in (*POD, *KEPT)} == {**dict.fromkeys(POD), **KEPT}
    assert resolve({}, result) is None
    assert inherited.foreign({"TF_CONFIG": "", "TF_CONFIGS": "x", "MY_SLURM_ID": "1"}) == []


def test_it_is_said_in_one_line() -> None:
    assert inherited.described(inherited.foreign({**POD, **KEPT})) == (
        "BATCH_*, DLS_*, MA_TASK_NAME, SLURM_*, TF_CONFIG, VC_WORKER_HOSTS"
    )


def test_the_launcher_s_flags_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TF_CONFIG", POD["TF_CONFIG"])
    script = tmp_path / "program.py"
    script.write_text(
        "import os, sys\n"
        "from moxing.cluster.resolve import resolve\n"
        "given = dict(flag[2:].split('=', 1) for flag in sys.argv[1:])\n"
        "print(resolve(given, os.environ).source, given['task_index'])\n"
    )
    job = Plan(str(script), workers=2, runner=(sys.executable,))

    assert supervise(job, tmp_path / "logs", max_restarts=0) == 0

    told = capfd.readouterr()
    assert sorted(told.out.splitlines()) == [
        "[worker 0] flags 0",
        "[worker 1] flags 1",
    ]
    assert told.err == (
        "mox launch: The tasks don't get TF_CONFIG of this environment: the launcher itself tells"
        " them where they are.\n"
    )
