"""Job descriptions for Slurm, read as Slurm reads them."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from moxing.cli import launch

ARGUMENTS = ("--data_url=/data/it's here", "--note=$HOME: #1")
RUN = ["python", "-m", "moxing", "run", "dir/My Train.py", *ARGUMENTS]


def emitted(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    assert launch.main([*flags, "dir/My Train.py", *ARGUMENTS]) == 0
    return capsys.readouterr().out


def test_the_name_of_a_file_adds_no_line_to_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    script = "a\n#SBATCH --wrap=reboot\n;b.py"

    assert launch.main(["--emit=slurm", "--workers=2", script]) == 0

    text = capsys.readouterr().out
    assert "\n#SBATCH --wrap" not in text
    # Slurm reads no option behind the first command.
    lines = itertools.takewhile(lambda x: x.startswith("#"), text.splitlines())
    options = [line for line in lines if line.startswith("#SBATCH")]
    assert "#SBATCH --job-name=a-SBATCH-wrap-reboot-b" in options
    assert [line for line in options if "--wrap" in line] == []


# Runs a task for each code of a line of the file `codes`, a line a start; ends with the highest of
# theirs, and answers SIGTERM by killing them, as srun does.
SRUN = """#!/bin/bash
printf '%s\\n' "$@" > "$FOLDER/arguments"
echo x >> "$FOLDER/starts"
while [[ $1 == --* ]]; do shift; done
trap 'for one in $tasks; do kill -KILL -- "-$one"; done; exit 137' TERM
for code in $(sed -n "$(wc -l < "$FOLDER/starts")p" "$FOLDER/codes"); do
  CODE=$code setsid bash -c 'echo $$ >> "$FOLDER/tasks"; exec "$@"' - "$@" &
  tasks+=" $!"
done
highest=0
for one in $tasks; do
  wait "$one"; code=$?
  (( code > highest )) && highest=$code
done
exit $highest
"""
# Signals the tasks of a step, as Slurm's step daemons do.
SCANCEL = """#!/bin/bash
echo "$@" >> "$FOLDER/scancels"
for one in $(cat "$FOLDER/tasks"); do kill -"${1#--signal=}" "$one"; done
"""
# A task: ends with its code, or takes a moment to save when it is told to stop.
PYTHON = """#!/bin/bash
[[ $CODE != saves ]] && exit "$CODE"
trap 'echo told >> "$FOLDER/told"' TERM
echo $$ >> "$FOLDER/ready"
until [[ -s $FOLDER/told ]]; do /bin/sleep 0.02; done
for ((i = 0; i < 75; i++)); do /bin/sleep 0.02; done
echo saved >> "$FOLDER/saved"
exit 143
"""
SLEEP = """#!/bin/bash
case $1 in 0.5|2147483647) exec /bin/sleep "$1";; esac  # No pause between two starts.
echo "$1" >> "$FOLDER/pauses"
exec /bin/sleep "$SECONDS_OF_PAUSE"
"""


def submitted(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    codes: list[str],
    *flags: str,
    pause: float = 0.1,
) -> subprocess.Popen[str]:
    """The emitted script, as Slurm runs it, with a line of codes for each start of the tasks.

    Every pause of the script takes `pause` seconds: with none, it would send its signals faster
    than a busy machine handles them.
    """
    (folder / "job.sh").write_text(emitted(capsys, "--emit=slurm", "--workers=2", *flags))
    (folder / "codes").write_text("".join(f"{one}\n" for one in codes))
    for name, text in (
        *(("srun", SRUN), ("scancel", SCANCEL)),
        *(("python", PYTHON), ("sleep", SLEEP)),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "FOLDER": str(folder),
        "SLURM_JOB_ID": "7",
        "SECONDS_OF_PAUSE": str(pause),
    }
    return subprocess.Popen(
        ["bash", str(folder / "job.sh")], env=environment, stderr=subprocess.PIPE, text=True
    )


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text().splitlines())


def ready(folder: Path) -> list[int]:
    """The numbers of two tasks that wait to be told to stop."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = (folder / "ready").read_text().split() if (folder / "ready").exists() else []
        if len(found) == 2:
            return [int(number) for number in found]
        time.sleep(0.02)
    raise AssertionError("no tasks")


@pytest.mark.parametrize(
    ("codes", "code", "count"),
    [
        (["0 0"], 0, 1),
        (["2 143"], 2, 1),  # Its error counts, and not that the other lost it.
        (["94 0"], 94, 1),
        (["255 143"], 255, 1),
        (["0 127"], 255, 1),
        (["137 143", "0 0"], 0, 2),
        (["143 143", "0 0"], 0, 2),  # Nobody asked: a stall, or a network that was lost.
        (["137 143", "143 139"], 143, 2),
    ],
)
def test_slurm(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, codes: list[str], code: int, count: int
) -> None:
    process = submitted(capsys, tmp_path, codes, "--max_restarts=1")

    process.communicate(timeout=120)

    assert (process.returncode, starts(tmp_path)) == (code, count)
    asked = (tmp_path / "arguments").read_text().splitlines()
    assert asked[-len(RUN) :] == RUN
    assert "--kill-on-bad-exit=0" in asked
    assert "--wait=600" in asked


def test_pauses_of_slurm(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    process = submitted(capsys, tmp_path, ["143"] * 9, "--max_restarts=8")
    _, error = process.communicate(timeout=120)

    assert process.returncode == 143
    assert (tmp_path / "pauses").read_text().split() == ["1", "2", "4", "8", "16", "32", "60", "60"]
    assert error.splitlines()[0] == "srun ended with 143; starting again in 1 s"


def test_slurm_s_own_shell_is_told_and_tells_the_tasks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    process = submitted(capsys, tmp_path, ["saves saves", "0 0"])
    ready(tmp_path)
    process.terminate()

    process.communicate(timeout=120)

    assert (process.returncode, starts(tmp_path)) == (143, 1)
    assert (tmp_path / "told").read_text() == "told\n" * 2  # Once each, however often it is sent.
    assert (tmp_path / "saved").read_text() == "saved\n" * 2
    assert (tmp_path / "scancels").read_text().splitlines()[0] == "--signal=USR2 7.0"


@pytest.mark.parametrize("all_processes", [False, True])
def test_a_signal_of_slurm_reaches_the_program_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, all_processes: bool
) -> None:
    """It goes to a task's first process alone, or to all, as the site's ProctrackType says."""
    process = submitted(capsys, tmp_path, ["saves saves"], "--max_restarts=0")
    ready(tmp_path)
    for number in map(int, (tmp_path / "tasks").read_text().split()):
        (os.killpg if all_processes else os.kill)(number, signal.SIGTERM)

    process.communicate(timeout=120)

    assert process.returncode == 143
    assert (tmp_path / "told").read_text() == "told\n" * 2
    assert (tmp_path / "saved").read_text() == "saved\n" * 2


def test_scancel_which_the_tasks_hear_of_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    process = submitted(capsys, tmp_path, ["saves saves", "0 0"], pause=90)
    for number in ready(tmp_path):
        os.kill(number, signal.SIGTERM)
    assert process.stderr is not None
    assert process.stderr.readline() == "srun ended with 143; starting again in 1 s\n"
    process.terminate()

    process.communicate(timeout=60)

    assert (process.returncode, starts(tmp_path)) == (143, 1)


def test_what_slurm_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    lines = emitted(capsys, "--emit=slurm", "--workers=4", "--num_gpus=8").splitlines()

    asked = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")]
    assert asked == [
        "--job-name=My-Train",
        "--nodes=4",
        "--ntasks-per-node=1",
        "--gpus-per-node=8",
        "--output=%x-%j.log",
        "--open-mode=append",
        "--requeue",
        "--signal=B:TERM@120",
    ]


def test_the_grace_of_slurm(capsys: pytest.CaptureFixture[str]) -> None:
    text = emitted(capsys, "--emit=slurm", "--grace=900.5")
    assert "#SBATCH --signal=B:TERM@901\n" in text
    assert " --wait=901 " in text
    assert "B:TERM@65535\n" in emitted(capsys, "--emit=slurm", "--grace=86400")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--emit=slurm", "--ps=1"],
            "--emit=slurm with --ps=1: all tasks of a Slurm job are workers. Leave --ps out;"
            " synchronous training needs no parameter server.",
        ),
        (
            ["--emit=k8s"],
            "--emit=k8s needs --image=IMAGE, which holds the program and openmox.",
        ),
        (
            ["--emit=jobset"],
            "--emit=jobset needs --image=IMAGE, which holds the program and openmox.",
        ),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], flags: list[str], message: str) -> None:
    assert launch.main([*flags, "train.py"]) == 2
    assert capsys.readouterr().err == f"mox: error: {message}\n"
