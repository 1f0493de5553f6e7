"""A launcher whose console or disk is gone: the job goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.launch import plan as plans
from moxing.launch import task
from moxing.launch.gang import Limits
from moxing.launch.plan import Plan
from moxing.launch.supervise import supervise

LIMITS = Limits(explain=1.0, stop=20.0, ps=1.0)
FULL = "/dev/full"
# Prints much more than a pipe holds, and then leaves a mark.
PROGRAM = """
import sys
for number in range(20000):
    print("line", number)
open(sys.argv[1], "w").close()
"""
LAUNCHER = """
import sys
from pathlib import Path
from moxing.launch.plan import Plan
from moxing.launch.supervise import supervise
script, mark, logs = sys.argv[1:]
plan = Plan(script, (mark,), runner=(sys.executable,))
sys.exit(supervise(plan, Path(logs)))
"""

# The first stops itself; the second fails once it has.
STOPS = """
import os, signal, sys, time
folder = os.path.dirname(__file__)
if "--task_index=0" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
    with open(f"{folder}/unnamed", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{folder}/unnamed", f"{folder}/number")
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(60)
while not os.path.exists(f"{folder}/number"):
    time.sleep(0.01)
stat = f"/proc/{open(f'{folder}/number').read()}/stat"
while open(stat).read().rpartition(")")[2].split()[0] != "T":
    time.sleep(0.01)
sys.exit(5)
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "program.py").write_text(PROGRAM)
    names = [str(tmp_path / name) for name in ("program.py", "mark", "logs")]
    return [sys.executable, "-c", LAUNCHER, *names]


def _whole(tmp_path: Path) -> bool:
    lines = (tmp_path / "logs" / "worker-0.log").read_text().splitlines()
    return (tmp_path / "mark").exists() and lines[-1] == "line 19999"


def test_a_job_outlives_the_reader_of_its_output(command: list[str], tmp_path: Path) -> None:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "[worker 0] line 0\n"
    process.stdout.close()

    assert process.wait(240) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert _whole(tmp_path)


@pytest.mark.skipif(not os.path.exists(FULL), reason="no /dev/full")
def test_a_job_outlives_a_full_disk_behind_its_console(command: list[str], tmp_path: Path) -> None:
    with open(FULL, "w") as full:
        done = subprocess.run(command, stdout=full, stderr=full, timeout=60, check=False)

    assert done.returncode == 0
    assert _whole(tmp_path)


@pytest.mark.skipif(not os.path.exists(FULL), reason="no /dev/full")
def test_a_job_outlives_a_full_disk_behind_its_logs(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "worker-0.log"
    log.symlink_to(FULL)

    assert subprocess.run(command, timeout=60, check=False).returncode == 0

    said = capfd.readouterr()
    assert said.out.splitlines()[-1] == "[worker 0] line 19999"
    assert said.err == (
        f"mox: warning: the output of worker 0 is not kept in {log} any longer: No space left on"
        " device.\n"
    )


@pytest.mark.parametrize("name", ["worker-0.log", "connection-b.log"])
def test_a_link_in_a_shared_folder_of_logs_is_not_followed(tmp_path: Path, name: str) -> None:
    """Another user could have what tasks print appended to any file of this one."""
    own = tmp_path / "own"
    own.write_text("mine")
    logs = tmp_path / "logs"
    logs.mkdir()
    logs.chmod(0o777)
    (logs / name).symlink_to(own)
    with pytest.raises(MoxRuntimeError) as caught:
        task.opened(logs / name)
    assert str(caught.value) == (
        f"the output of a task can't be kept in {logs}/{name}: it is a link, which others may have"
        " made: remove it. --logs=DIR names another folder."
    )
    assert own.read_text() == "mine"
    logs.chmod(0o700)  # A link in a folder of this user alone is the user's own.
    with task.opened(logs / name) as file:
        file.write(b" and theirs")
    assert own.read_text() == "mine and theirs"


def test_logs_that_can_not_be_kept_are_refused_with_the_flag_that_helps(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.touch()
    job = Plan(str(script), runner=(sys.executable,))
    with pytest.raises(MoxRuntimeError) as caught:
        supervise(job, script / "logs")
    assert str(caught.value) == (
        f"the output of the tasks can't be kept in {script}/logs: Not a directory. --logs=DIR names"
        " another folder."
    )
    (tmp_path / "logs" / "worker-0.log").mkdir(parents=True)
    with pytest.raises(MoxRuntimeError) as caught:
        supervise(job, tmp_path / "logs")
    assert str(caught.value) == (
        f"the output of a task can't be kept in {tmp_path}/logs/worker-0.log: Is a directory."
        " --logs=DIR names another folder."
    )


def test_more_processes_than_a_machine_carries_are_refused() -> None:
    for count in (plans.MOST + 1, 10**30):
        with pytest.raises(MoxValueError) as caught:
            Plan("program.py", workers=count).starts({})
        assert str(caught.value) == (
            f"{count} processes on one machine are too many; 256 is the most."
        )


def test_a_task_that_stands_still_obeys_when_another_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """SIGTERM alone does not reach a stopped process, which was then killed at the limit."""
    script = tmp_path / "program.py"
    script.write_text(STOPS)
    job = Plan(str(script), workers=2, runner=(sys.executable,))

    assert supervise(job, tmp_path / "logs", 0, limits=LIMITS) == 5
    assert "mox launch: worker 0 then: code 9." in capfd.readouterr().err.splitlines()
