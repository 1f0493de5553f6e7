"""Runs a command beside daemons that are there for as long as the command.

Daemons and command live in namespaces of their own, with one PID namespace, so that the kernel
takes all of it away when the command ends, or when this program is killed. Files, also temporary
files of the command, lie in one folder, which this program removes at its end, or its next start
if it was killed. The real machine's network, `/etc` and `/run` stay as they are.

The exit code is the command's; 124 after the limit; 75 where the daemons can't be brought up here,
which is then said in one sentence. With --optional these two are 0. --install fetches missing
packages of Debian or Ubuntu. Needs root.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

CANNOT, TOO_LONG = 75, 124  # EX_TEMPFAIL, and what timeout(1) says.
SECONDS = 30  # For a command that sets something up, and for all daemons to answer.
REMOVAL_SECONDS = 300  # For the files of this program: images of machines are gigabytes.
APT_SECONDS = 300
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PREFIX, LOCK = "fence-", "lock"


@dataclass(frozen=True)
class World:
    """Daemons that a command can have beside it.

    Attributes:
        name: such as "two machines".
        programs: Debian's package for each program that is needed.
        bring_up: starts the daemons, with their files in a folder; returns the environment by
            which the command finds them.
        online: whether daemons and command use the real machine's network, to download packages.
    """

    name: str
    programs: Mapping[str, str]
    bring_up: Callable[[Path], dict[str, str]]
    online: bool = False

    def give_up(self, why: str) -> NoReturn:
        print(f"No {self.name} here: {why}", flush=True)
        sys.exit(CANNOT)


def main(world: World, usage: str | None, arguments: list[str]) -> int:
    """Runs the command of the arguments; returns the exit code."""
    if arguments[:1] == ["--inside"]:
        return inside(world, Path(arguments[1]), arguments[2:])
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--optional", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    if not given.command:
        parser.error("which command?")
    for number in SIGNALS:
        signal.signal(number, end)
    try:
        code = brought_up(world, given.install, given.limit, given.command)
    except SystemExit as error:
        code = int(error.code or 0)
    return 0 if given.optional and code in (CANNOT, TOO_LONG) else code


def brought_up(world: World, install: bool, limit: float | None, command: list[str]) -> int:
    if os.geteuid() != 0:
        world.give_up("this needs root, for namespaces and daemons.")
    get_programs(world, install)
    sweep()
    with own_folder() as folder:
        return fenced(world, folder, limit, command)


def end(number: int, frame: FrameType | None) -> NoReturn:
    """Ends this program in order; a second signal does not cut that short."""
    del frame
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that is there for as long as this program; a lock in it says that it is in use."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        folder.chmod(0o755)
        with (folder / "new").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "new").rename(folder / LOCK)  # Never to be seen without its lock.
            yield folder
    finally:
        remove(folder)


def sweep() -> None:
    """Removes the folders of programs like this that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        # Everybody may make such folders, and a file there that nobody writes to.
        if path.parent.lstat().st_uid != os.geteuid():
            continue
        with contextlib.suppress(OSError), path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(path.parent)


def remove(folder: Path) -> None:
    """Removes a folder, also one that processes which are being killed still write to."""
    deadline = time.monotonic() + REMOVAL_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)
    if folder.exists():
        print(f"{folder} could not be removed.", flush=True)


def get_programs(world: World, install: bool) -> None:
    """Sees to it that all programs are here; Debian's packages are installed if asked."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if install and lacking(world) and shutil.which("apt-get"):
        try:
            with alone():
                install_packages(lacking(world))
        except (OSError, subprocess.SubprocessError) as error:
            world.give_up(f"apt-get can't install {' '.join(lacking(world))} ({error}).")
    if missing := lacking(world):
        world.give_up(f"install {' '.join(missing)}, or call this with --install.")


def lacking(world: World) -> list[str]:
    """The packages of the programs that are not here."""
    return sorted({package for name, package in world.programs.items() if not shutil.which(name)})


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """In the block, no other program like this one installs packages."""
    folder = os.open("/var/lib/dpkg", os.O_RDONLY)  # Its own tools lock files in it.
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def install_packages(packages: list[str]) -> None:
    """Installs packages, if there are any, without starting their daemons."""
    if not packages:
        return
    # Daemons must not start on the real machine; only its own policy is kept.
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        wanted = ["install", "-q", "-y", "--no-install-recommends", *packages]
        for words in (["update", "-q"], wanted):
            apt_get(words, quiet)
    finally:
        if ours:
            policy.unlink()


def apt_get(words: list[str], environ: Mapping[str, str]) -> None:
    """Runs apt-get; a signal to this program lets packages that are being set up be finished."""
    command = ["apt-get", "-o", "Acquire::http::Timeout=20", *words]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as process:
        try:
            code = process.wait(APT_SECONDS)
        except BaseException:
            # apt-get ends a download for this signal, and no installation.
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(APT_SECONDS)
            process.kill()
            raise
    if code:
        raise subprocess.CalledProcessError(code, command)


def fenced(world: World, folder: Path, limit: float | None, command: list[str]) -> int:
    """Runs this program again as the first process of namespaces of its own."""
    fence = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
    fence += ["--mount-proc", "--propagation=private", *([] if world.online else ["--net"])]
    probe = subprocess.run([*fence, "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        world.give_up(f"the kernel allows no namespaces ({probe.stderr.strip()}).")
    own = [sys.executable, os.path.abspath(sys.argv[0]), "--inside", str(folder), *command]
    process = subprocess.Popen([*fence, "--", *own], preexec_fn=die_with_parent)
    try:
        code = process.wait(limit)
        return code if code >= 0 else 128 - code
    except subprocess.TimeoutExpired:
        print(f"Cut off after {limit:g} s: {' '.join(command)}", flush=True)
        return TOO_LONG
    finally:
        process.kill()  # The kernel kills all that is inside.
        process.wait()


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def inside(world: World, folder: Path, command: list[str]) -> int:
    """Brings up the daemons, and runs the command beside them."""
    try:
        (folder / "tmp").mkdir()
        environ = {**os.environ, "TMPDIR": str(folder / "tmp"), **world.bring_up(folder)}
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or ""
        for log in folder.glob("*.log"):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}")
        world.give_up(f"{error} {output}")
    done = subprocess.Popen(command, env=environ)
    while True:  # As the first process, this one also buries what daemons leave behind.
        pid, status = os.wait()
        if pid == done.pid:
            return os.waitstatus_to_exitcode(status) & 0xFF


def run(*command: str, seconds: float = SECONDS) -> str:
    """What a command prints that sets something up."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.strip()
