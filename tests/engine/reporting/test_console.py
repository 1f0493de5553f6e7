"""The live line on real terminals, and its absence everywhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from moxing.engine.reporting.console import SilentConsole, open_console

sys.path.insert(0, str(Path(__file__).parents[1]))
from terminals import Terminal, lines_drawn, run, screen  # noqa: E402

TRAIN = """
import logging, sys, time
from moxing import logs
from moxing.engine.wording import report
from moxing.engine.reporting.console import open_console
logs.reset_logger()
log = logging.getLogger("tensorflow")
log.info("before")
with open_console("train", 40) as console:
    for step in range(40):
        console.tick(step)
        time.sleep(0.02)
        if step % 10 == 0:
            values = {"loss": 1 / (step + 1), "accuracy": 0.5}
            log.info(report.step_line(step, step, 42.0, values))
            console.update(step, 42.0, 0.031, values)
log.info("after")
print(console.live, "rich" in sys.modules)
"""
LINES = [
    "INFO:tensorflow:before",
    *(
        f"INFO:tensorflow:step: {step}(global step: {step})\tsample/sec: 42.000"
        f"\tloss: {1 / (step + 1):.3f}\taccuracy: 0.500"
        for step in (0, 10, 20, 30)
    ),
    "INFO:tensorflow:after",
]


def test_a_terminal_shows_the_line_and_keeps_the_log() -> None:
    output = run(TRAIN, columns=120).output
    shown = [line.expandtabs() for line in LINES]
    assert screen(output, 120) == [*shown, "True True", ""]
    for line in LINES:  # With its tabs, as it would be in a file.
        assert f"{line}\r\n".encode() in output
    drawn = lines_drawn(output)
    assert re.fullmatch(r"train starting · \d+\.\d+ s", drawn[0])
    full = (
        r"train \d+/40 ━*─+ \d+% · \S+ s left · 42.0 samples/s · 3% waiting for data"
        r" · loss: \d\.\d{3} · accuracy: 0\.500"
    )
    assert any(re.fullmatch(full, line) for line in drawn), drawn
    assert b"\x1b[32m" in output


def test_a_line_is_at_the_bottom_below_the_log() -> None:
    output = run(TRAIN, columns=120).output
    half = output[: output.index(b"INFO:tensorflow:step: 20")]
    rows = screen(half[: half.rindex(b"\r\x1b[J")], 120)
    assert rows[:3] == [line.expandtabs() for line in LINES[:3]]
    assert rows[3].startswith("train ")
    assert len(rows) == 4


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": ""}, {"MOX_SILENT_MODE": "1"}])
def test_terminals_that_cannot_or_should_not_show_it(environment: dict[str, str]) -> None:
    output = run(TRAIN, environment=environment).output
    assert b"\x1b" not in output
    assert output.endswith(b"False False\r\n")


def test_no_color_takes_the_color_and_not_the_line() -> None:
    output = run(TRAIN, environment={"NO_COLOR": "1"}).output
    assert len(lines_drawn(output)) > 4
    assert b"\x1b[32m" not in output


def test_pipes_and_files_get_the_log_alone(tmp_path: Path) -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "FORCE_COLOR": "1"}
    command = [sys.executable, "-c", TRAIN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.stderr.splitlines() == LINES
    assert done.stdout == "False False\n"
    with open(tmp_path / "log", "wb") as file:
        subprocess.run(command, env=environment, stderr=file, stdout=file, check=True, timeout=240)
    assert (tmp_path / "log").read_bytes().decode() == "\n".join([*LINES, "False False", ""])


AFTER = """
import logging, os, sys, threading, time
from moxing import logs
from moxing.engine.reporting.console import open_console
logs.reset_logger()
log = logging.getLogger("tensorflow")
"""


def test_long_lines_and_half_lines_keep_their_bytes() -> None:
    words = "word " * 30 + "\tend [bold]x[/bold] \x1b[31mred\x1b[0m ü :smile:"
    program = f"""
with open_console("train", None) as console:
    log.info({words!r})
    print("out", 1, end=" ", flush=True)
    time.sleep(0.6)
    print("of", 2)
    sys.stderr.writelines(["a\\n", "b\\n"])
    for percent in (10, 20):
        print(f"\\r{{percent}} %", end="", file=sys.stderr)
        time.sleep(0.3)
    print(file=sys.stderr)
"""
    output = run(AFTER + program, columns=60).output
    assert f"INFO:tensorflow:{words}\r\n".encode() in output
    assert b"out 1 of 2\r\n" in output  # Nothing is drawn into an unfinished line.
    assert b"\r10 %\r20 %\r\n" in output
    assert screen(output, 60)[-5:] == ["out 1 of 2", "a", "b", "20 %", ""]


def test_what_bypasses_python_is_readable() -> None:
    program = """
with open_console("train", None) as console:
    time.sleep(0.3)
    os.write(2, b"a long line of C++ that covers the live line, and then some more text\\n")
    time.sleep(0.6)
"""
    rows = screen(run(AFTER + program).output, 100)
    assert rows == ["a long line of C++ that covers the live line, and then some more text", ""]


def test_resizing_and_long_values() -> None:
    program = """
with open_console("train", 1 << 40) as console:
    console.update(3, 42.0, 0.5, {"漢字" * 40: 1.0, "x" * 300: 2.0})
    for _ in range(2):
        time.sleep(0.4)
        sys.stdin.readline()
"""
    terminal = Terminal(AFTER + program, 90, {})
    terminal.wait_for_line("42.0 samples/s")
    wide = len(terminal.output)
    terminal.resize(30)
    terminal.send("\n")
    terminal.wait_for_line("train 3/", narrower=30, start=wide)
    terminal.send("\n")
    assert terminal.finish() == 0
    assert max(map(_cells, lines_drawn(terminal.output[:wide]))) in (88, 89)
    after = lines_drawn(terminal.output[wide:])
    narrow = [line for line in after if _cells(line) < 30]
    assert narrow
    assert narrow[-1].startswith("train 3/1099511627776 ")
    assert narrow[-1].endswith("…")
    # Once resized, no line is too long.
    assert all(_cells(line) < 30 for line in after[after.index(narrow[0]) :])


def _cells(line: str) -> int:
    return sum(2 if character in "漢字" else 1 for character in line)


def test_an_unknown_end_shows_elapsed_time() -> None:
    program = """
with open_console("eval", sys.maxsize) as console:
    console.tick(5)
    sys.stdin.readline()
"""
    terminal = Terminal(AFTER + program, 100, {})
    terminal.wait_for_line("eval step 5")
    terminal.send("\n")
    assert terminal.finish() == 0
    drawn = lines_drawn(terminal.output)
    assert any(re.fullmatch(r"eval step 5 · \d+(\.\d+)? s", line) for line in drawn), drawn
    assert not [line for line in drawn if "left" in line]


def test_a_failure_to_draw_costs_the_line_only() -> None:
    program = """
class Broken:
    def __float__(self):
        raise RuntimeError("no number")
with open_console("train", 10) as console:
    console.update(1, None, None, {"loss": Broken()})
    time.sleep(0.6)
    for step in range(3):
        console.tick(step)
        log.info("step %d", step)
print("went on")
"""
    rows = screen(run(AFTER + program).output, 100)
    assert [row for row in rows if "INFO" in row] == [f"INFO:tensorflow:step {i}" for i in range(3)]
    assert rows[-2:] == ["went on", ""]


def test_a_terminal_that_goes_away(tmp_path: Path) -> None:
    program = f"""
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with open_console("train", 10) as console:
    log.info("started")
    while os.isatty(2) and os.getppid() and not os.path.exists({str(tmp_path / "gone")!r}):
        time.sleep(0.05)
    for step in range(3):
        console.tick(step)
        log.info("step %d", step)
        time.sleep(0.3)
open({str(tmp_path / "done")!r}, "w").close()
os._exit(0)
"""
    terminal = Terminal(AFTER + program, 80, {})
    terminal.wait_for("started")
    terminal.hang_up()
    (tmp_path / "gone").touch()
    assert terminal.wait() == 0
    assert (tmp_path / "done").exists()


def test_children_made_by_fork_can_write() -> None:
    program = """
with open_console("train", 10) as console:
    for number in range(50):
        child = os.fork()
        if not child:
            sys.stderr.write(f"child {number}\\n")
            os._exit(0)
        log.info("parent %d", number)
        assert os.waitpid(child, 0)[1] == 0
        if number % 10 == 0:
            time.sleep(0.26)
"""
    output = run(AFTER + program).output.decode()
    for number in range(50):
        assert f"child {number}\r\n" in output
        assert f"INFO:tensorflow:parent {number}\r\n" in output


def test_threads_and_nested_consoles() -> None:
    program = """
def talk(name):
    for number in range(100):
        print(f"{name} {number}", file=sys.stderr)
with open_console("train", 10) as console, open_console("eval", 5) as inner:
    threads = [threading.Thread(target=talk, args=(name,)) for name in "abcd"]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(console.live, inner.live)
"""
    rows = screen(run(AFTER + program).output, 100)
    for name in "abcd":  # print() writes the text and the newline apart, as it does without us.
        assert sum(row.count(f"{name} ") for row in rows) == 100
    assert rows[-2:] == ["True False", ""]


def test_an_exception_gives_the_streams_back() -> None:
    program = """
before = sys.stderr, sys.stdout
try:
    with open_console("train", 10) as console:
        taken = sys.stderr, sys.stdout
        raise ValueError("x")
except ValueError:
    pass
print(before == (sys.stderr, sys.stdout), taken[0] is before[0], taken[0].fileno())
taken[0].write("late\\n")
"""
    output = run(AFTER + program).output
    assert screen(output, 100) == ["True False 2", "late", ""]


def test_streams_that_somebody_else_replaced_are_left_alone() -> None:
    program = """
import io
with open_console("train", 10) as console:
    sys.stdout = mine = io.StringIO()
assert sys.stdout is mine
"""
    run(AFTER + program)


def test_a_stream_of_the_programs_may_have_nothing_but_write() -> None:
    program = """
class Log:
    def __init__(self, to): self.to = to
    def write(self, text): self.to.write(text)
kept, sys.stdout = sys.stdout, Log(sys.stdout)
with open_console("train", 10) as console:
    print("logged")
sys.stdout = kept
print(console.live)
"""
    assert screen(run(AFTER + program).output, 100)[-2:] == ["True", ""]


def test_without_a_terminal_or_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for stream in (sys.stderr, None):
        monkeypatch.setattr(sys, "stderr", stream)
        with open_console("train", 10) as console:
            assert isinstance(console, SilentConsole)
            assert not console.live
            console.tick(1)
            console.update(1, 2.0, None, {})
