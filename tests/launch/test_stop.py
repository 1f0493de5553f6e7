"""What a launcher does with tasks that it told to stop: waits, says so, and kills when asked."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from moxing.errors import MoxValueError
from moxing.launch import gang
from moxing.launch.gang import Limits
from moxing.launch.plan import Plan
from moxing.launch.supervise import supervise
from moxing.signals import StopRequest

LAUNCHER = """
import sys
from pathlib import Path
from moxing.launch.gang import Limits
from moxing.launch.plan import Plan
from moxing.launch.supervise import supervise
limits = Limits(explain=0.1, stop=300.0, ps=1.0, quiet=0.1)
plan = Plan(sys.argv[1], (), int(sys.argv[2]), runner=(sys.executable,))
sys.exit(supervise(plan, Path(sys.argv[3]), limits=limits))
"""
# Saves when it is told to stop, for as long as the test wants.
SAVES = """
import os, signal, sys, time
folder = os.path.dirname(__file__)
def save(number, frame):
    while not os.path.exists(f"{folder}/saved"):
        time.sleep(0.01)
    print("saved", flush=True)
    sys.exit(128 + number)
signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
if "--task_index=1" in sys.argv:
    while not os.path.exists(f"{folder}/ready"):
        time.sleep(0.01)
    sys.exit(3)
open(f"{folder}/ready", "w").close()
print("ready", flush=True)
time.sleep(300)
"""


def launched(folder: Path, workers: int = 1) -> subprocess.Popen[str]:
    """A launcher whose first task is ready; a second one fails then."""
    (folder / "program.py").write_text(SAVES)
    words = [str(folder / "program.py"), str(workers), str(folder / "logs")]
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "[worker 0] ready\n"
    return process


def said(process: subprocess.Popen[str], word: str) -> str:
    """The launcher's next line with a word."""
    assert process.stderr is not None
    return next(line for line in process.stderr if word in line)


def test_a_save_that_takes_long_is_waited_for(tmp_path: Path) -> None:
    process = launched(tmp_path)
    process.send_signal(signal.SIGTERM)
    assert said(process, "Waiting") == (
        "mox launch: Waiting up to 300 s for worker 0 to save and end; Ctrl-C kills.\n"
    )
    (tmp_path / "saved").touch()

    output, error = process.communicate(timeout=240)

    assert (process.returncode, output) == (143, "[worker 0] saved\n")
    assert error == "mox launch: SIGTERM: all tasks have ended.\n"


def test_a_second_ctrl_c_kills_at_once(tmp_path: Path) -> None:
    process = launched(tmp_path)
    process.send_signal(signal.SIGINT)
    assert said(process, "Waiting").endswith("to save and end; Ctrl-C again kills.\n")
    time.sleep(0.6)  # What follows sooner is the same request.
    process.send_signal(signal.SIGINT)

    output, _ = process.communicate(timeout=240)  # And not 300.

    assert (process.returncode, output) == (130, "")


def test_those_that_lost_a_partner_may_save_too(tmp_path: Path) -> None:
    process = launched(tmp_path, workers=2)
    assert said(process, "Waiting").endswith("for worker 0 to save and end; Ctrl-C kills.\n")
    (tmp_path / "saved").touch()

    output, error = process.communicate(timeout=240)

    assert (process.returncode, output) == (3, "[worker 0] saved\n")
    assert error.startswith("mox launch: worker 1 failed first: code 3.")


def test_servers_alone_have_nothing_to_save(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "time.sleep(300 if '--job_name=ps' in sys.argv else 0)\n"
    )
    job = Plan(str(script), workers=1, ps=1, runner=(sys.executable,))
    began = time.monotonic()

    assert supervise(job, tmp_path / "logs", limits=Limits(ps=0.2)) == 0
    assert time.monotonic() - began < 60  # Not `stop`, which is five minutes.


def test_signals_of_one_request_count_once() -> None:
    stop = StopRequest()
    assert not stop
    for now in (100.0, 100.1, 100.4):
        stop.note(signal.SIGTERM, now)
    assert (bool(stop), stop.count, stop.exit_code) == (True, 1, 143)
    stop.note(signal.SIGINT, 100.6)
    assert (stop.count, stop.exit_code) == (2, 130)


def test_only_some_of_many_are_named() -> None:
    class Running:
        code = None

        def __init__(self, name: str) -> None:
            self.name = name

    tasks = [Running(f"worker {index}") for index in range(6)]
    assert gang._running(tasks) == "worker 0, worker 1, worker 2, worker 3 and 2 more"  # pyright: ignore


def test_the_limits_of_a_given_grace() -> None:
    assert gang.limits_with(None) == Limits() == Limits(stop=300.0)
    assert gang.limits_with(0.0).stop == 0.0
    assert gang.limits_with(7.5) == Limits(stop=7.5)
    for given, shown in ((-1.0, "-1"), (float("nan"), "nan"), (1e6, "1e+06")):
        with pytest.raises(MoxValueError) as caught:
            gang.limits_with(given)
        assert str(caught.value) == (
            f"--grace={shown} must be from 0 to 86400 seconds, a day; 0 kills at once."
        )


SHOWS = """
import faulthandler, os, signal, sys, time
folder = os.path.dirname(__file__)
if "--task_index=1" not in sys.argv:
    faulthandler.register(signal.SIGUSR1)
open(f"{folder}/ready-{os.getpid()}", "w").close()
while not os.path.exists(f"{folder}/done"):
    time.sleep(0.01)
print("done", flush=True)
"""


def test_sigusr1_shows_the_stacks_of_tasks_that_train_and_ends_none(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SHOWS)
    words = [str(tmp_path / "program.py"), "2", str(tmp_path / "logs")]
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 240
    while len(list(tmp_path.glob("ready-*"))) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGUSR1)
    assert said(process, "stacks") == (
        "mox: worker 1 shows no stacks: it does not train, or not yet.\n"
    )
    (tmp_path / "done").touch()
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    assert "[worker 0] " in output
    assert 'program.py", line 8 in <module>' in output or "most recent call first" in output
    assert output.count("] done") == 2


def test_a_guard_on_another_machine_passes_sigusr1_on(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SHOWS)
    command = [sys.executable, "-m", "moxing.launch.guard", sys.executable, tmp_path / "program.py"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdin is not None
    until = time.monotonic() + 240
    while not list(tmp_path.glob("ready-*")):
        assert time.monotonic() < until
        time.sleep(0.01)
    process.stdin.write(f"{int(signal.SIGUSR1)}\n")
    process.stdin.flush()
    output = ""
    for line in process.stdout or ():
        output += line
        if "in <module>" in line:
            (tmp_path / "done").touch()
    process.stdin.close()
    assert process.wait(240) == 0
    assert "most recent call first" in output
    assert "done" in output
