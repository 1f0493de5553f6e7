"""Runs malformed inputs, each in a fork with limits, and says which of them were not met well.

    python tests/attack/attempt.py {plain,tensorflow} FOLDER [--every N] [NAME]

Prints a JSON object a line for each fault, and one with the number of inputs at the end. With
`--every N` it runs each Nth input. NAME runs only the inputs whose names contain it, and shows what
they printed. As root it runs where all files but those of FOLDER can only be read, so that a fault
harms nothing of the machine.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 60.0  # Of a machine that does other work as well; the longest takes a few alone.
MEMORY = 1 << 30  # Bytes beside those of the process that forks.
SHUT_IN = "ATTACK_IS_SHUT_IN"
# These stay as they are: the first needs no names of files, and the others hold none.
_LEFT = ("/dev/shm", "/dev/pts", "/proc", "/sys")
OUTPUT = 64 << 10  # Characters: a message that quotes all of a large input hides what it says.
_TAIL = 1500
_FORGED = re.compile(r"^(INFO:tensorflow:|mox: |\[worker 0\] )forged", re.MULTILINE)
_IN_SCRIPT = re.compile(r"^#SBATCH forged", re.MULTILINE)


@dataclass(frozen=True)
class Input:
    """What a hostile or clumsy user gives to a command or to a function.

    Attributes:
        name: of a report.
        do: the words of a `mox` command, or a function.
        fails: whether nothing can be made of it, so that 0 is a wrong exit code.
        make: writes the files; the current folder is an empty one.
        environ: further variables.
        quotes: how many characters of the files belong into what the command prints.
    """

    name: str
    do: list[str] | Callable[[], Any]
    fails: bool = False
    make: Callable[[], None] | None = None
    environ: dict[str, str] = field(default_factory=dict)
    quotes: int = 0


@dataclass(frozen=True)
class Ending:
    code: int
    told: str
    seconds: float
    memory: int
    harm: bool


def faults(given: Input, ending: Ending) -> Iterator[str]:
    """What was wrong about the end of an input, in words."""
    if ending.harm:
        yield "changed a file beside the folder that it was given"
    if ending.code < 0 or ending.code in (134, 139):
        yield f"ended by signal {ending.code}"
    if ending.seconds >= SECONDS:
        yield f"did not end within {SECONDS:.0f} s"
    if ending.memory > MEMORY:
        yield f"took {ending.memory >> 20} MB"
    if "Traceback (most recent call last)" in ending.told:
        yield "printed a traceback"
    quoted = given.quotes
    quoted += 3 * sum(map(len, given.do)) if isinstance(given.do, list) else 0
    if len(ending.told) > OUTPUT + quoted:
        yield f"printed {len(ending.told)} characters"
    if "\x1b" in ending.told:
        yield "printed codes that steer a terminal"
    if _FORGED.search(ending.told) or (ending.code == 0 and _IN_SCRIPT.search(ending.told)):
        yield "printed a line that the input has forged"
    if ending.code == 0 and given.fails:
        yield "ended with 0"
    if ending.code != 0 and not ending.told.strip():
        yield f"ended with {ending.code} without a word"


def attempted(given: Input, folder: Path) -> Ending:
    """Runs an input in a fork, in a folder of its own, beside a file of somebody else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    precious = folder.parent / "others" / "precious"
    precious.parent.mkdir(exist_ok=True)
    precious.write_text("precious")
    said = folder.with_suffix(".said")
    began = time.monotonic()
    before = _resident()
    child = os.fork()
    if child == 0:
        _act(given, folder, said)
    code, memory = None, 0
    while code is None:
        time.sleep(0.002)
        found, status, used = os.wait4(child, os.WNOHANG)
        if found:
            code, memory = os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024 - before
        elif time.monotonic() - began > SECONDS:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            code = -9
    seconds = time.monotonic() - began
    told = said.read_text(errors="backslashreplace")
    harm = [path.name for path in precious.parent.iterdir()] != ["precious"]
    harm = harm or precious.read_text() != "precious"
    return Ending(code, told, seconds, memory, harm)


def _act(given: Input, folder: Path, said: Path) -> None:
    """Never returns."""
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1), os.dup2(output, 2)
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if given.make is not None:
            given.make()
        os.environ.update(given.environ)
        code = _code(given.do)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code & 255)


def _code(do: list[str] | Callable[[], Any]) -> int:
    from moxing.cli import main
    from moxing.errors import MoxError

    if isinstance(do, list):
        return main.main(do)
    try:
        do()
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    return 0


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def shut_in(folder: Path) -> None:
    """Lets this process write into `folder` alone, from a start of its own, where it may."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    os.environ.update(TMPDIR=str(temporary), HOME=str(temporary))
    tempfile.tempdir = None
    unshare = ["unshare", "--mount", "--propagation=private"]
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return
    if os.environ.get(SHUT_IN) != "1":
        if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode == 0:
            os.environ[SHUT_IN] = "1"
            os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])
        return
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        at = line.split()[4]
        if at != str(folder) and not at.startswith(_LEFT):
            readable = ["mount", "-o", "remount,bind,ro", at]
            subprocess.run(readable, capture_output=True, check=at == "/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("plain", "tensorflow"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("name", nargs="?", default="")
    options = parser.parse_args()
    kind, folder, only = options.kind, options.folder.absolute(), options.name
    shut_in(folder)
    for name in [name for name in os.environ if name.startswith(("SLURM", "MOX", "TF_CONFIG"))]:
        del os.environ[name]
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    if kind == "tensorflow":
        import of_tensorflow as inputs
    else:
        import of_words as inputs
    inputs.warm()
    count, longest = 0, 0.0
    names = set()
    for number, given in enumerate(inputs.inputs()):
        if only not in given.name or number % options.every:
            continue
        assert given.name not in names, given.name
        names.add(given.name)
        ending = attempted(given, folder / "case")
        count, longest = count + 1, max(longest, ending.seconds)
        if count % 100 == 0:
            print(f"{count} inputs, the last of them: {given.name}", file=sys.stderr, flush=True)
        if only:
            print(f"--- {given.name}: {ending.code}\n{ending.told[:_TAIL]}", file=sys.stderr)
        if wrong := list(faults(given, ending)):
            told = {"name": given.name, "wrong": wrong, "told": ending.told[-_TAIL:]}
            print(json.dumps(told), flush=True)
    print(json.dumps({"inputs": count, "longest": round(longest, 1)}), flush=True)


if __name__ == "__main__":
    main()
