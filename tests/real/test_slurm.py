"""The emitted script under a real Slurm of two nodes, whose KillWait is 10 seconds."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from machines import Host, answering, until

from moxing.cli import launch

# Trains until it is told to stop.
TRAIN = (Path(__file__).parent / "programs/endless.py").read_text()
TASK = Path(__file__).with_name("task.py")
ENDED = ["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"]
SAVED = ["started", "told", "saved"]


class Job:
    """A submitted job; each of its tasks keeps notes in its folder."""

    def __init__(self, number: str, folder: Path) -> None:
        self.number, self.folder = number, folder

    def notes(self, task: int) -> list[str]:
        path = self.folder / f"task-{task}"
        return path.read_text().splitlines() if path.exists() else []

    def fact(self, name: str) -> str:
        text = slurm("scontrol", "show", "job", "-o", self.number)
        match = re.search(rf"\b{name}=(\S*)", text)
        assert match, text
        return match[1]

    def starts(self, count: int = 1) -> Job:
        """Waits for both tasks to have begun as often."""
        until(lambda: self._begun() >= count, "the start")
        return self

    def _begun(self) -> int:
        """How often both tasks have begun."""
        return min(self.notes(task).count("started") for task in (0, 1))

    def starts_again(self) -> None:
        """Waits for the second start of both tasks of a job that Slurm has queued again."""
        hasten = ["scontrol", "update", f"JobId={self.number}", "StartTime=now"]

        def begun() -> bool:
            # Slurm puts off such a job, and may do so after the job was hastened.
            subprocess.run(hasten, capture_output=True, timeout=60, check=False)
            time.sleep(1)
            return self._begun() == 2

        until(begun, "the second start", 150)

    def end(self, seconds: float = 90) -> int:
        """The exit code, once it has ended."""
        until(lambda: self.fact("JobState") in ENDED, f"the end of {self.number}", seconds)
        code, number = self.fact("ExitCode").split(":")
        return int(number) + 128 if int(number) else int(code)

    def log(self) -> str:
        return "".join(path.read_text() for path in self.folder.glob("*.log"))


def slurm(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def submit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Job]]:
    """Submits the emitted script, with tests/real/task.py in the place of Python."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {TASK} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{python.parent}:{os.environ['PATH']}")
    jobs: list[Job] = []

    def begin(
        *asked: str, codes: str = "", saves: float = 1, flags: tuple[str, ...] = (), wait: int = 600
    ) -> Job:
        folder = tmp_path / f"job{len(jobs)}"
        folder.mkdir()
        assert launch.main(["--emit=slurm", "--workers=2", *flags, "train.py"]) == 0
        script = capsys.readouterr().out
        assert "--wait=600 " in script
        (folder / "job.sh").write_text(script.replace("--wait=600 ", f"--wait={wait} "))
        values = {"FOLDER": str(folder), "CODES": codes, "SAVES": str(saves)}
        given = ["--chdir", str(folder), f"--export=ALL{''.join(f',{n}' for n in values)}"]
        with pytest.MonkeyPatch.context() as patch:
            for name, value in values.items():
                patch.setenv(name, value)
            number = slurm("sbatch", "--parsable", *given, *asked, str(folder / "job.sh"))
        jobs.append(Job(number, folder))
        return jobs[-1]

    yield begin
    for job in jobs:
        subprocess.run(["scancel", "--quiet", "--full", "--signal=KILL", job.number], check=False)
        subprocess.run(["scancel", "--quiet", job.number], check=False)
    idle = "2 idle"
    until(lambda: slurm("sinfo", "-h", "-p", "work", "-o", "%D %T") == idle, "idle nodes")


def test_tasks_that_are_told_have_all_the_time_they_need(submit: Callable[..., Job]) -> None:
    """Longer than KillWait."""
    job = submit(saves=14).starts()
    slurm("scancel", "--batch", "--signal=TERM", job.number)

    assert job.end() == 143
    assert [job.notes(0), job.notes(1)] == [SAVED, SAVED]
    assert "starting again" not in job.log()


def test_the_time_limit_with_grace_longer_and_shorter_than_kill_wait(
    submit: Callable[..., Job],
) -> None:
    """All at once, because the shortest limit is a minute."""
    longer = submit("--time=2", saves=14, flags=("--grace=60",))
    shorter = submit("--time=1", saves=10, flags=("--grace=5",))
    too_short = submit("--time=1", saves=100, flags=("--grace=5",))

    assert longer.end(200) == 143
    assert [longer.notes(0), longer.notes(1)] == [SAVED, SAVED]
    assert longer.fact("JobState") == "FAILED"  # By its own end, and not by the limit.
    shorter.end()
    assert [shorter.notes(0), shorter.notes(1)] == [SAVED, SAVED]
    # At the limit Slurm tells the tasks once more, which cuts a save that still lasts.
    too_short.end()
    for task in (0, 1):
        assert too_short.notes(task)[:2] == SAVED[:2]
        assert "saved" not in too_short.notes(task)
    assert "starting again" not in longer.log() + shorter.log() + too_short.log()


def test_scancel_leaves_kill_wait(submit: Callable[..., Job]) -> None:
    job = submit(saves=2).starts()
    slurm("scancel", job.number)
    job.end()
    assert [job.notes(0), job.notes(1)] == [SAVED, SAVED]

    long = submit(saves=60).starts()
    slurm("scancel", long.number)
    long.end()
    assert [long.notes(0), long.notes(1)] == [SAVED[:2], SAVED[:2]]


def test_tasks_that_die_start_again_as_often_as_it_was_said(submit: Callable[..., Job]) -> None:
    job = submit(codes="137,143/wait,wait", flags=("--max_restarts=1",)).starts(2)
    slurm("scancel", "--batch", "--signal=TERM", job.number)
    assert job.end() == 143
    assert job.notes(0) == ["started", *SAVED]
    assert "srun ended with 143; starting again in 1 s" in job.log()

    spent = submit(codes="137,143", flags=("--max_restarts=2",))
    assert spent.end() == 143
    assert spent.notes(1) == ["started"] * 3


@pytest.mark.parametrize(
    ("codes", "code"), [("2,143", 2), ("143,94", 94), ("0,0", 0), ("137,3", 3)]
)
def test_the_program_s_own_codes(submit: Callable[..., Job], codes: str, code: int) -> None:
    job = submit(codes=codes)
    assert job.end() == code
    assert job.notes(0) == ["started"]


def test_a_task_that_hangs_after_the_others_is_ended(submit: Callable[..., Job]) -> None:
    job = submit(codes="0,hang", wait=3, flags=("--max_restarts=0",))
    assert job.end() not in (0, 143)
    assert [job.notes(0), job.notes(1)] == [["started"], ["started"]]


def test_a_job_that_is_queued_again_saves_and_starts_again(submit: Callable[..., Job]) -> None:
    job = submit().starts()
    slurm("scontrol", "requeue", job.number)
    until(lambda: job.fact("JobState") == "PENDING", "the queue")
    assert [job.notes(0), job.notes(1)] == [SAVED, SAVED]
    until(lambda: not slurm("squeue", "-h", "-t", "CG"), "the end of the first run")
    job.starts_again()
    # The numbers of its steps begin at 0 again.
    slurm("scancel", "--batch", "--signal=TERM", job.number)
    assert job.end() == 143
    assert job.notes(0) == SAVED * 2


def test_a_job_that_makes_room_saves_and_comes_back(submit: Callable[..., Job]) -> None:
    job = submit("--exclusive", saves=3).starts()
    urgent = submit("--exclusive", "--partition=urgent", codes="0,0").starts()
    assert urgent.end() == 0
    until(lambda: job.fact("JobState") == "PENDING", "the queue")
    assert [job.notes(0), job.notes(1)] == [SAVED, SAVED]
    assert "srun ended with 143; another job gets the nodes" in job.log()
    job.starts_again()


def test_of_an_array_one_job_alone_is_told(submit: Callable[..., Job]) -> None:
    """Slurm gives the last of an array's jobs the number of the whole array."""
    array = submit("--array=1-2")
    until(
        lambda: slurm("squeue", "-h", "-t", "R", "-r", "-o", "%F").count(array.number) == 2, "both"
    )
    until(lambda: array.notes(0).count("started") == 2, "the start of both")
    last = slurm("squeue", "-h", "-r", "-j", array.number, "-o", "%A %K").splitlines()
    (element,) = [line.split()[1] for line in last if line.split()[0] == array.number]
    slurm("scancel", "--batch", "--signal=TERM", f"{array.number}_{element}")
    until(lambda: array.notes(0).count("saved") == 1, "the end of one")
    time.sleep(7)  # Longer than the pause between two signals.
    assert array.notes(0).count("told") == 1
    assert len(slurm("squeue", "-h", "-t", "R", "-r", "-o", "%F").splitlines()) == 1


@pytest.mark.timeout(400)
def test_a_private_job_has_no_port_and_saves_when_it_is_told(
    tmp_path: Path,
    hosts: tuple[Host, Host],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The launcher runs on the first node; the third machine, that of the tests, seeks ports."""
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert launch.main(["--emit=slurm", "--private", "--workers=2", "train.py", "log"]) == 0
    (tmp_path / "job.sh").write_text(capsys.readouterr().out)
    open_before = [answering(host) for host in hosts]
    words = ["--parsable", "--chdir", str(tmp_path), str(tmp_path / "job.sh")]
    job = Job(slurm("sbatch", *words), tmp_path)
    try:
        until(lambda: job.log().count("step: 200(") == 2, "both to train", 200)
        more = [answering(host) - was for host, was in zip(hosts, open_before, strict=True)]
        slurm("scancel", "--batch", "--signal=TERM", job.number)
        assert job.end() == 143
    finally:
        print(job.log())
        subprocess.run(["scancel", "--quiet", job.number], check=False)
    # Those of srun and of Slurm's own daemons are opened for a moment and then gone.
    assert more == [set(), set()]
    assert list((tmp_path / "log").glob("model.ckpt-*.index"))


@pytest.mark.timeout(400)
def test_two_jobs_train_on_the_same_nodes_and_save_when_they_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert launch.main(["--emit=slurm", "--workers=2", "train.py", "log"]) == 0
    (tmp_path / "job.sh").write_text(capsys.readouterr().out)
    jobs = []
    try:
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            shutil.copy(tmp_path / "train.py", folder)
            words = ["--parsable", "--chdir", str(folder), str(tmp_path / "job.sh")]
            jobs.append(Job(slurm("sbatch", *words), folder))
        for job in jobs:
            until(lambda job=job: job.log().count("step: 200(") == 2, "all to train", 250)
        assert {job.fact("NodeList") for job in jobs} == {"n[1-2]"}
        assert [job.fact("JobState") for job in jobs] == ["RUNNING", "RUNNING"]
        for job in jobs:
            slurm("scancel", "--batch", "--signal=TERM", job.number)
        assert [job.end() for job in jobs] == [143, 143]
    finally:
        for job in jobs:
            print(job.log())
            subprocess.run(["scancel", "--quiet", job.number], check=False)
    for job in jobs:
        assert list((job.folder / "log").glob("model.ckpt-*.index"))
        assert "taken" not in job.log()


@pytest.mark.slow
def test_a_node_that_dies_puts_the_job_back_into_the_queue(
    submit: Callable[..., Job], hosts: tuple[Host, Host], world: dict
) -> None:
    job = submit().starts()
    lost = hosts[1]
    daemon = Path(world["folder"]) / f"spool.{lost.name}/pid"
    lost.unplug()
    for number in [*stepds(lost.name), int(daemon.read_text())]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    until(lambda: job.fact("Restarts") == "1", "the job in the queue again", 120)
    lost.plug_in()
    lost.run("slurmd", "-f", os.environ["SLURM_CONF"], "-N", lost.name)
    until(lambda: slurm("sinfo", "-h", "-p", "work", "-o", "%D %T") == "2 idle", "both nodes")
    job.starts_again()


def stepds(name: str) -> list[int]:
    """All that Slurm runs on a node."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "environ").read_text(errors="replace").split("\0")
            command = (folder / "cmdline").read_text().split("\0")
            if f"SLURMD_NODENAME={name}" in words or command[0].startswith("slurmstepd"):
                found.append(int(folder.name))
    return found
