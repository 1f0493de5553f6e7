"""Nothing is left of what tools/fence.py brings up, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from machines import until

TOOLS = Path(__file__).parents[2] / "tools"
# Mounts and a daemon that goes on writing, as those of the real ones do.
WORLD = """
import os, subprocess, sys
sys.path.insert(0, os.environ["TOOLS"])
import fence

def bring_up(folder):
    (folder / "inner").mkdir()
    fence.run("mount", "-t", "tmpfs", "none", str(folder / "inner"))
    loop = "while true; do mkdir -p $0/a/b; date > $0/a/b/$RANDOM; done"
    subprocess.Popen(["setsid", "bash", "-c", loop, str(folder)])
    return {"BROUGHT": "up"}

if __name__ == "__main__":
    sys.exit(fence.main(fence.World("test", {}, bring_up), None, sys.argv[1:]))
"""


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A world with its folder in tmp_path/own; the command in it has begun."""
    (tmp_path / "world.py").write_text(WORLD)
    (tmp_path / "own").mkdir()
    ready = tmp_path / "ready"
    command = f'echo "$BROUGHT" > {ready}; exec sleep 600'
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "world.py"), "sh", "-c", command],
        env={**os.environ, "TMPDIR": str(tmp_path / "own"), "TOOLS": str(TOOLS)},
    )
    until(lambda: ready.exists() and ready.read_text() == "up\n", "the world")
    assert own_processes(tmp_path)
    yield process
    process.kill()
    process.wait()


def own_processes(folder: Path) -> list[int]:
    """All processes that write to a test's own folder, or were started from it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
        except OSError:
            continue
        if f"{folder}/".encode() in words and int(path.name) != os.getpid():
            found.append(int(path.name))
    return found


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGINT], 130),
        ([signal.SIGTERM], 143),
        ([signal.SIGHUP], 129),
        ([signal.SIGINT, signal.SIGINT, signal.SIGTERM], 130),
    ],
)
def test_a_signal_takes_all_down(
    signals: list[int], code: int, begin: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    mounts = Path("/proc/self/mounts").read_text()
    for number in signals:
        begin.send_signal(number)
    assert begin.wait(60) == code
    assert list((tmp_path / "own").iterdir()) == []
    assert not own_processes(tmp_path)
    assert Path("/proc/self/mounts").read_text() == mounts


def test_the_next_start_removes_what_a_kill_has_left(
    begin: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    begin.kill()
    begin.wait()
    until(lambda: not own_processes(tmp_path), "the processes to go", 20)
    [left] = (tmp_path / "own").iterdir()
    assert left.name.startswith("fence-")
    other = tmp_path / "own" / "fence-of-another"  # It may have been begun in this moment.
    other.mkdir()
    done = subprocess.run(
        [sys.executable, str(tmp_path / "world.py"), "true"],
        env={**os.environ, "TMPDIR": str(tmp_path / "own"), "TOOLS": str(TOOLS)},
        timeout=100,
        check=False,
    )
    assert done.returncode == 0
    assert list((tmp_path / "own").iterdir()) == [other]


def test_a_folder_in_use_is_let_alone(begin: subprocess.Popen[bytes], tmp_path: Path) -> None:
    before = list((tmp_path / "own").iterdir())
    subprocess.run(
        [sys.executable, str(tmp_path / "world.py"), "true"],
        env={**os.environ, "TMPDIR": str(tmp_path / "own"), "TOOLS": str(TOOLS)},
        timeout=100,
        check=True,
    )
    assert list((tmp_path / "own").iterdir()) == before
    assert begin.poll() is None
