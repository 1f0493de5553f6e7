"""A process that may have a thread in native code ends like others, but does not shut down."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

# `Shut` is destroyed, and says so, where Python shuts down.
PROGRAM = """
import atexit, gzip, os, sys, threading, time, zipfile
from moxing import leaving
leaving.install()

class Shut:
    def __del__(self, write=os.write):
        write(1, b"shut down\\n")

shut = Shut()
if {native}:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
text, packed = open("text", "w"), gzip.open("packed", "wt")
archive = zipfile.ZipFile("archive", "w")
for file in text, packed:
    file.write("kept")
archive.writestr("inner", "kept")
atexit.register(print, "exit function")
threading.Timer(0.2, print, ["thread"]).start()
print("end")
"""


def run(code: str, folder: Path, native: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(native=native) + code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        ("", 0, ""),
        ("raise SystemExit(7)", 7, ""),
        ("import sys; sys.exit('no data')", 1, "no data\n"),
        ("raise SystemExit", 0, ""),
        ("raise ValueError(3)", 1, "ValueError: 3\n"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt\n"),
        ("leaving.told(lambda: 5)", 5, ""),
        ("leaving.told(lambda: sys.exit(6))", 6, ""),
        ("atexit.register(leaving.fail, 9)", 9, ""),
    ],
)
def test_all_is_done_and_the_exit_code_is_the_programs(
    code: str, expected: int, said: str, tmp_path: Path
) -> None:
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout) == (expected, "end\nthread\nexit function\n")
    assert done.stderr.endswith(said)
    assert (tmp_path / "text").read_text() == "kept"
    with gzip.open(tmp_path / "packed", "rt") as file:
        assert file.read() == "kept"
    assert zipfile.ZipFile(tmp_path / "archive").read("inner") == b"kept"


def test_a_process_without_such_threads_shuts_down_as_ever(tmp_path: Path) -> None:
    done = run("raise SystemExit(7)", tmp_path, native=False)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == "end\nthread\nexit function\nshut down\n"


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("code", ["", "raise SystemExit(7)"])
def test_a_stream_that_only_writes_is_no_error(code: str, native: bool, tmp_path: Path) -> None:
    streams = (
        "class Stream:\n"
        "    def __init__(self, to): self.to = to\n"
        "    def write(self, text): self.to.write(text)\n"
        "sys.stdout, sys.stderr = Stream(sys.stdout), Stream(sys.stderr)\n"
    )
    done = run(streams + code, tmp_path, native)
    assert (done.returncode, done.stderr) == (7 if code else 0, "")
    assert done.stdout.startswith("end\nthread\nexit function\n")


def test_output_that_nobody_takes_is_an_error(tmp_path: Path) -> None:
    for told in ("", "leaving.told(lambda: 0)\n"):
        reading, writing = os.pipe()
        os.close(reading)
        program = PROGRAM.format(native=True) + told
        environment = {**os.environ, "PYTHONUNBUFFERED": ""}
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=environment,
            stdout=writing,
            timeout=240,
            check=False,
        )
        os.close(writing)
        assert done.returncode == 120


def test_at_once_exit_functions_run_although_the_main_thread_does_not_end(tmp_path: Path) -> None:
    code = (
        "atexit.register(lambda: print(leaving.goes_at_once()))\n"
        "threading.Thread(target=leaving.at_once, args=(143,), daemon=True).start()\n"
        "threading.Event().wait()"
    )
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (143, "")
    assert [line for line in done.stdout.splitlines() if line != "thread"] == [
        "end",
        "True",
        "exit function",
    ]
    assert (tmp_path / "text").read_text() == "kept"


def test_a_process_of_multiprocessing_ends_as_ever(tmp_path: Path) -> None:
    code = (
        "import multiprocessing\n"
        "worker = multiprocessing.get_context('fork').Process(target=sys.exit, args=(4,))\n"
        "worker.start(); worker.join(); sys.exit(worker.exitcode)"
    )
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (4, "")
    assert done.stdout.count("exit function") == 1
