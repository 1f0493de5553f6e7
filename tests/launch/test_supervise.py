"""Launching plain Python programs: output, failures, restarts, signals, and no orphans."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from moxing.launch.gang import Limits
from moxing.launch.plan import Plan
from moxing.launch.supervise import supervise

LIMITS = Limits(explain=1.0, stop=2.0, ps=1.0)
# The head of each program: who am I, and how often was I started?
HEAD = """
import os, signal, sys, time
flags = dict(f.lstrip("-").split("=", 1) for f in sys.argv[1:] if "=" in f)
job, index = flags.get("job_name", "worker"), int(flags.get("task_index", 0))
mark = f"{os.path.dirname(__file__)}/starts-{job}-{index}"
starts = os.path.getsize(mark) if os.path.exists(mark) else 0
open(mark, "a").write("x")


def meet():  # Waits until the other worker has begun as often.
    other = f"{os.path.dirname(__file__)}/starts-{job}-{1 - index}"
    while not os.path.exists(other) or os.path.getsize(other) <= starts:
        time.sleep(0.01)
"""


def plan(folder: Path, body: str, workers: int = 2, ps: int = 0) -> Plan:
    script = folder / "program.py"
    script.write_text(HEAD + body)
    return Plan(str(script), ("--own=1",), workers, ps, runner=(sys.executable,))


def starts(folder: Path, task: str) -> int:
    return len((folder / f"starts-{task}").read_text())


def test_output_is_marked_by_task_and_kept_in_files(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = (
        "print(job, index, flags['own']); print('to stderr', file=sys.stderr); print('end', end='')"
    )

    assert supervise(plan(tmp_path, body, 2, 1), tmp_path / "logs", limits=LIMITS) == 0

    output = capfd.readouterr().out
    for task in ("worker 0", "worker 1", "ps 0"):
        mine = [line for line in output.splitlines() if line.startswith(f"[{task}] ")]
        assert mine == [f"[{task}] {task} 1", f"[{task}] to stderr", f"[{task}] end"]
        text = (tmp_path / "logs" / f"{task.replace(' ', '-')}.log").read_text()
        assert text == f"{task} 1\nto stderr\nend"


def test_the_tasks_know_each_other(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = "print(flags['worker_hosts'], flags['ps_hosts'], os.environ['no_proxy'])"

    assert supervise(plan(tmp_path, body, 2, 1), tmp_path / "logs", limits=LIMITS) == 0

    told = {line.partition("] ")[2] for line in capfd.readouterr().out.splitlines()}
    assert len(told) == 1
    workers, ps, no_proxy = told.pop().split()
    addresses = [*workers.split(","), *ps.split(",")]
    assert len(set(addresses)) == 3
    assert all(address.startswith("127.0.0.1:") for address in addresses)
    assert "127.0.0.1" in no_proxy.split(",")


def test_an_error_of_the_program_stops_all_and_is_shown_first(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
meet()
if index == 1:
    print("no such column: age")
    sys.exit(7)
time.sleep(60)
"""
    began = time.monotonic()

    assert supervise(plan(tmp_path, body), tmp_path / "logs", limits=LIMITS) == 7

    assert time.monotonic() - began < 45
    log = tmp_path / "logs" / "worker-1.log"
    assert capfd.readouterr().err.splitlines() == [
        f"mox launch: worker 1 failed first: code 7. Its output is in {log}.",
        "mox launch: Its last lines:",
        "    no such column: age",
        "mox launch: worker 0 then: told to stop, or lost a partner (code 143).",
    ]
    assert starts(tmp_path, "worker-1") == 1


def test_a_code_that_is_no_signal_is_the_programs_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert supervise(plan(tmp_path, "sys.exit(-1)", 1), tmp_path / "logs", limits=LIMITS) == 255
    assert starts(tmp_path, "worker-0") == 1
    assert "worker 0 failed first: code 255." in capfd.readouterr().err


def test_the_error_counts_though_its_witness_ended_before(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
witness = f"{os.path.dirname(__file__)}/witness"
if index == 0:
    open(witness + ".new", "w").write(str(os.getpid()))
    os.rename(witness + ".new", witness)
    sys.exit(143)
while not os.path.exists(witness):
    time.sleep(0.01)
while "State:\\tZ" not in open(f"/proc/{open(witness).read()}/status").read():
    time.sleep(0.01)
sys.exit(3)
"""
    limits = Limits(explain=40.0, stop=2.0, ps=1.0)  # It goes on once the other has ended.

    assert supervise(plan(tmp_path, body), tmp_path / "logs", limits=limits) == 3
    assert "worker 1 failed first: code 3." in capfd.readouterr().err


def test_a_killed_task_starts_all_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = """
meet()
if starts < 2:
    if index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
"""
    done = supervise(plan(tmp_path, body), tmp_path / "logs", 3, 0.01, LIMITS)

    assert done == 0
    assert starts(tmp_path, "worker-0") == starts(tmp_path, "worker-1") == 3
    error = capfd.readouterr().err
    assert "worker 1 failed first: killed by SIGKILL (code 137)." in error
    assert "Starting all again in 0.01 s: restart 1 of 3." in error
    assert "Starting all again in 0.02 s: restart 2 of 3." in error


@pytest.mark.parametrize(
    ("end", "code"), [("os.kill(os.getpid(), 6)", 134), ("sys.exit(143)", 143)]
)
def test_the_budget_of_restarts_ends(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], end: str, code: int
) -> None:
    assert supervise(plan(tmp_path, end, 1), tmp_path / "logs", 1, 0.01, LIMITS) == code
    assert starts(tmp_path, "worker-0") == 2
    error = capfd.readouterr().err
    assert error.endswith("mox launch: No restart is left (--max_restarts=1).\n")


def test_servers_that_do_not_end_are_ended(tmp_path: Path) -> None:
    body = "time.sleep(60 if job == 'ps' else 0)"
    began = time.monotonic()

    assert supervise(plan(tmp_path, body, 1, 1), tmp_path / "logs", limits=LIMITS) == 0
    assert time.monotonic() - began < 45


def test_one_process_opens_no_port(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert supervise(plan(tmp_path, "print(sys.argv[1:])", 1), tmp_path / "logs") == 0
    assert capfd.readouterr().out == "[worker 0] ['--own=1']\n"


LAUNCHER = """
import sys
from pathlib import Path
from moxing.launch.gang import Limits
from moxing.launch.plan import Plan
from moxing.launch.supervise import supervise
plan = Plan(sys.argv[1], (), 2, runner=(sys.executable,))
code = supervise(plan, Path(sys.argv[2]), limits=Limits(1.0, float(sys.argv[3]), 1.0))
assert "tensorflow" not in sys.modules
sys.exit(code)
"""
# What the program does with SIGTERM and Ctrl-C: saves, or nothing at all.
POLITE = """
def save(number, frame):
    print("saved", flush=True)
    sys.exit(128 + number)
signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
"""
STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
"""
READY = """
print("ready", os.getpid(), flush=True)
time.sleep(300)
"""


def launched(folder: Path, body: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A launcher of two workers in a process of its own, and the workers' numbers."""
    script = plan(folder, body + READY).script
    stop = "2" if body == STUBBORN else "40"
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, script, str(folder / "logs"), stop],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    workers = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
    return process, workers


def gone(pid: int, limit: float = 60.0) -> bool:
    until = time.monotonic() + limit
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("body", [POLITE, STUBBORN])
def test_a_signal_goes_to_all_and_all_end(tmp_path: Path, number: int, body: str) -> None:
    process, workers = launched(tmp_path, body)

    process.send_signal(number)
    output, _ = process.communicate(timeout=90)

    assert process.returncode == 128 + number
    assert output.count("saved") == (2 if body == POLITE else 0)
    assert all(gone(pid) for pid in workers)


def test_no_task_outlives_a_killed_launcher(tmp_path: Path) -> None:
    process, workers = launched(tmp_path, STUBBORN)

    process.kill()
    process.communicate(timeout=90)

    assert all(gone(pid) for pid in workers)


def test_what_a_task_started_ends_with_it(tmp_path: Path) -> None:
    body = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
open(f"{os.path.dirname(__file__)}/child", "w").write(str(child.pid))
sys.exit(5)
"""
    assert supervise(plan(tmp_path, body, 1), tmp_path / "logs", limits=LIMITS) == 5
    assert gone(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("debug", ["", "1"])
def test_native_noise_is_in_the_file_only(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    debug: str,
) -> None:
    monkeypatch.setenv("MOX_DEBUG", debug)
    noise = (
        "W0000 00:00:1795850610.078501   19990 local_rendezvous.cc:412] Local rendezvous is"
        " aborting with status: ABORTED: Cleanup 9102"
    )
    body = f"print('before')\nprint({noise!r})\nprint('after')\nsys.exit(3)"

    assert supervise(plan(tmp_path, body, 1), tmp_path / "logs", limits=LIMITS) == 3

    output = capfd.readouterr()
    shown = [line.partition("] ")[2] for line in output.out.splitlines()]
    assert shown == (["before", noise, "after"] if debug else ["before", "after"])
    assert (noise in output.err) == bool(debug)
    assert noise in (tmp_path / "logs" / "worker-0.log").read_text()
