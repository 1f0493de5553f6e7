"""`mox uai train`: runs a training of UCloud's UAI Train on this machine, as the platform would."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from moxing.cli.options import Parser
from moxing.errors import MoxError

_DESCRIPTION = """\
Runs a program as the platform does: with TF_CONFIG where there are several processes, and with
--work_dir, --data_dir, --output_dir and --num_gpus at the end of its command."""
_SHOWN = 20
_OURS = ".mox"  # The prefix of locks, and of saves that were cut short.


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="mox uai", allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    train = commands.add_parser(
        "train", help="run a training here", description=_DESCRIPTION, allow_abbrev=False
    )
    train.add_argument("--nodes", type=int, default=1, metavar="N", help="nodes; default: 1")
    train.add_argument(
        "--ps", type=int, default=0, metavar="M", help="parameter servers; default: 0"
    )
    train.add_argument(
        "--num_gpus", type=int, default=0, metavar="G", help="GPUs of each node; default: 0"
    )
    train.add_argument("--data", required=True, metavar="DIR", help="data that the program reads")
    train.add_argument(
        "--output", required=True, metavar="DIR", help="folder that the program writes"
    )
    train.add_argument(
        "--code", default=".", metavar="DIR", help="folder of the program; default: this one"
    )
    train.add_argument(
        "--max_restarts",
        type=int,
        default=3,
        metavar="N",
        help="how many times the job is started again after a process has died; default: 3",
    )
    train.add_argument(
        "--grace",
        type=float,
        metavar="SECONDS",
        help="time for processes to save and end when they are told to stop; default: 300",
    )
    train.add_argument(
        "--logs",
        metavar="DIR",
        help="folder for the output of each process; default: a new one in mox-logs",
    )
    train.add_argument(
        "--isolate",
        action=argparse.BooleanOptionalAction,
        help="run in a network of its own, out of reach; default: for several processes, where"
        " slirp4netns lets them reach what this machine reaches",
    )
    train.add_argument("command", metavar="COMMAND", help='"script.py [flags]"')
    train.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Trains; returns the exit code of the job."""
    from moxing.launch.folder import log_folder
    from moxing.launch.gang import limits_with
    from moxing.launch.isolation.choice import choose
    from moxing.launch.supervise import say, supervise
    from moxing.launch.uai import training

    given = _parser().parse_args(list(arguments))
    command = " ".join([given.command, shlex.join(given.arguments)])
    if given.max_restarts < 0:
        print(f"mox: error: --max_restarts={given.max_restarts} is negative.", file=sys.stderr)
        return 2
    try:
        job = training(
            command.strip(),
            given.code,
            given.data,
            given.output,
            given.nodes,
            given.ps,
            given.num_gpus,
        )
        folder, limits = log_folder(given.logs, str(job.script)), limits_with(given.grace)
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 2
    try:
        network = choose(given.isolate, has_ports=given.nodes + given.ps > 1)
        code = supervise(job, folder, given.max_restarts, limits=limits, network=network)
    except (MoxError, OSError) as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1
    for line in _contents(job.output):
        say(job, line)
    return code


def _contents(folder: Path) -> list[str]:
    """Returns a line for each file that the user gets back."""
    found = (Path(base, name) for base, _, names in os.walk(folder) for name in names)
    sizes = ((path.relative_to(folder), _size(path)) for path in found)
    files = sorted(
        (path, size)
        for path, size in sizes
        if size is not None and not any(part.startswith(_OURS) for part in path.parts)
    )
    if not files:
        return [f"The program has written nothing to {folder}."]
    lines = [f"In {folder}:"]
    lines += [f"  {path} ({size:,} bytes)" for path, size in files[:_SHOWN]]
    more = len(files) - _SHOWN
    if more > 0:
        lines.append(f"  and {more:,} more file" + "s" * (more > 1))
    return lines


def _size(path: Path) -> int | None:
    """Returns the size of a file; None if it is no file, or was just removed."""
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None
