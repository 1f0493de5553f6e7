"""Which network a job on this machine gets, and what is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from moxing.launch.private.inside import probe

# `mox launch`, but for its way of running programs: without an import of TensorFlow.
LAUNCH = """
import sys
from moxing.cli import launch
from moxing.launch import plan
from moxing.launch.isolation import way_out
way_out._READY_SECONDS = 0.5
default = plan.Plan.__init__.__defaults__
plan.Plan.__init__.__defaults__ = tuple(
    (sys.executable,) if each and isinstance(each, tuple) else each for each in default
)
sys.exit(launch.main(sys.argv[1:]))
"""
LOOK = """
import os, socket
print([name for _, name in socket.if_nameindex()], os.environ.get("MOX_OWN_NETWORK"))
"""
OWN, NONE = "['lo'] 1", " None"
HAS_OWN = (
    "mox launch: The job has a network of its own: nobody else reaches its ports, and it reaches"
    " others through slirp4netns. --no-isolate leaves it in the machine's network.\n"
)
OPEN = (
    "mox launch: Whoever reaches this machine reaches the ports of this job: it has no network of"
    " its own, as {}.\n"
)
SHUT = "mox launch: The job has a network of its own, without a way out: {}.\n"


# A slirp4netns that says that it is up, and leads nowhere.
READY = 'for word in "$@"; do case $word in --ready-fd=*) eval "echo 1 >&${word#*=}"; esac; done\n'


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a shell's lines in the place of slirp4netns."""
    (tmp_path / "bin").mkdir()
    path = tmp_path / "bin/slirp4netns"

    def write(lines: str) -> Path:
        path.write_text(f"#!/bin/bash\n{lines}")
        path.chmod(0o755)
        return path

    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return write


@pytest.fixture
def _allowed() -> None:
    if problem := probe():
        pytest.skip(problem)


def launched(folder: Path, *flags: str, program: str = LOOK) -> subprocess.CompletedProcess[str]:
    (folder / "x.py").write_text(program)
    return subprocess.run(
        [sys.executable, "-c", LAUNCH, *flags, f"--logs={folder}/logs", str(folder / "x.py")],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize(
    ("flags", "own"),
    [
        (["--workers=2"], True),
        (["--workers=1", "--ps=1"], True),
        ([], False),  # A task alone has no port.
        (["--isolate"], True),
        (["--workers=2", "--no-isolate"], False),
    ],
)
def test_jobs_with_ports_have_one_if_it_leads_out(
    flags: list[str], own: bool, tmp_path: Path, engine: Callable[[str], Path]
) -> None:
    engine(READY + "sleep 100\n")
    done = launched(tmp_path, *flags)
    if own and probe():  # The kernel allows no network: it is missed only where it is asked for.
        assert "allows no network namespace" in done.stderr
        assert done.returncode == (1 if flags == ["--isolate"] else 0), done.stderr
        assert done.stdout.count(NONE) == (0 if flags == ["--isolate"] else 2), done.stdout
        return
    assert done.returncode == 0, done.stderr
    tasks = 2 if len(flags) and flags[0] != "--isolate" else 1
    assert done.stdout.count(OWN if own else NONE) == tasks, done.stdout
    assert done.stderr == (HAS_OWN if own else "")


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (None, "slirp4netns is not installed"),
        (
            "echo 'open(\"/dev/net/tun\"): Permission denied'; echo 'child failed(1)'; exit 1",
            'slirp4netns makes no way out here: open("/dev/net/tun"): Permission denied',
        ),
        ("exit 3", "slirp4netns makes no way out here: code 3"),
        ("sleep 100", "slirp4netns makes no way out here: no answer in 0.5 s"),
    ],
)
@pytest.mark.parametrize("asked", [False, True])
def test_without_a_way_out_it_must_be_asked_for(
    lines: str | None,
    why: str,
    asked: bool,
    tmp_path: Path,
    engine: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if lines is None:
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        engine(lines)
    began = time.monotonic()
    done = launched(tmp_path, "--workers=2", *(["--isolate"] if asked else []))
    assert done.returncode == 0, done.stderr
    assert done.stderr == (SHUT if asked else OPEN).format(why)
    assert done.stdout.count(OWN if asked else NONE) == 2
    assert time.monotonic() - began < 60


@pytest.mark.usefixtures("_allowed")
def test_the_job_goes_on_when_the_way_out_ends_and_it_is_said_once(
    tmp_path: Path, engine: Callable[[str], Path]
) -> None:
    engine(READY + "sleep 1; echo 'broken pipe' >&2; exit 4\n")
    done = launched(tmp_path, "--workers=2", program="import time; time.sleep(3); print('done')")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 2
    assert done.stderr == HAS_OWN + (
        "mox launch: The tasks reach nothing outside any more: slirp4netns ended: broken pipe.\n"
    )


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("number", [2, 9, 15])
def test_nothing_is_left_when_the_launcher_ends(
    number: int, tmp_path: Path, engine: Callable[[str], Path]
) -> None:
    """Ctrl-C, SIGKILL and SIGTERM: neither slirp4netns nor the holder of the network."""
    engine(f"echo $$ >> {tmp_path}/engines\n{READY}exec sleep 1000\n")
    (tmp_path / "x.py").write_text(
        f"import time\nopen('{tmp_path}/begun', 'a').write('x')\ntime.sleep(1000)"
    )
    words = ["--workers=2", f"--logs={tmp_path}/logs", str(tmp_path / "x.py")]
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCH, *words], stderr=subprocess.DEVNULL
    ) as process:
        until = time.monotonic() + 60
        begun = tmp_path / "begun"
        while not begun.exists() or begun.stat().st_size < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        family = children(process.pid)
        assert len(family) == 4  # Two tasks, the engine and the holder.
        os.kill(process.pid, number)
        assert process.wait(60) == (-9 if number == 9 else 128 + number)
    while any(Path("/proc", str(pid)).exists() for pid in family):
        assert time.monotonic() < until + 60
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(folder.name))
    return found
