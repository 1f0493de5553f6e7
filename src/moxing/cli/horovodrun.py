"""The command `horovodrun`: prints the equivalent `mox launch` line."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence

_COUNTS = ("-np", "--num-proc")
_HOSTS = ("-H", "--hosts")
_HOST_FILES = ("-hostfile", "--hostfile")
_ALONE = ("--gloo", "--mpi", "--verbose", "-v", "--disable-cache", "--check-build", "--version")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the line that starts the same processes, and returns 2: nothing was started."""
    line = answer(sys.argv[1:] if arguments is None else list(arguments))
    print(f"horovodrun: openmox starts a job's processes: {line}", file=sys.stderr)
    return 2


def answer(arguments: Sequence[str]) -> str:
    """Returns the `mox launch` line for a command line of horovodrun."""
    workers, hosts, rest = "N", "", list(arguments)
    while rest and rest[0].startswith("-"):
        name, _, value = rest.pop(0).partition("=")
        if name in _ALONE:
            continue
        if not value and rest:
            value = rest.pop(0)
        if name in _COUNTS:
            workers = value
        elif name in _HOSTS:
            hosts = value
        elif name in _HOST_FILES:
            hosts = _in_file(value)
    if rest and re.fullmatch(r"python[\d.]*", os.path.basename(rest[0])):
        rest = rest[1:]
    program = shlex.join([part for part in rest if part != "-u"] or ["train.py"])
    names = [host.partition(":")[0] for host in hosts.split(",") if host]
    if not names or set(names) <= {"localhost", "127.0.0.1"}:
        return f"mox launch --workers={workers} {program}"
    return f"mox launch --workers={workers} --hosts={','.join(names)} --ssh {program}"


def _in_file(path: str) -> str:
    """Returns the machines that a host file lists, one a line, such as `a slots=4`, as `a,b`."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            names = [line.partition("#")[0].split() for line in file]
    except OSError:
        return "A,B"  # The file is on another machine, so its names are left to the user.
    return ",".join(words[0] for words in names if words)
