"""`mox launch --workers=N script.py ...`: the tasks of a job on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from moxing.errors import MoxError, MoxValueError

if TYPE_CHECKING:
    from moxing.launch.plan import Plan

_DESCRIPTION = """\
Starts a program as several processes on this machine, shows what they print, and starts all of them
again from the last checkpoint when one dies. What stands after SCRIPT.py is the program's."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mox launch", description=_DESCRIPTION, allow_abbrev=False
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument("--ps", type=int, default=0, metavar="N", help="parameter servers")
    parser.add_argument("--num_gpus", type=int, metavar="N", help="devices of each worker")
    parser.add_argument(
        "--max_restarts", type=int, default=3, metavar="N", help="after deaths; default: 3"
    )
    parser.add_argument(
        "--logs", metavar="DIR", help="one file a task; default: a new folder in mox-logs"
    )
    parser.add_argument(
        "--isolate",
        action="store_true",
        help="in a network of its own: nobody outside reaches the ports, nor the tasks anything",
    )
    parser.add_argument(
        "--emit",
        choices=("slurm", "k8s"),
        help="start nothing: print an sbatch script (one worker a node), or a TFJob",
    )
    parser.add_argument("--image", metavar="IMAGE", help="of the containers, for --emit=k8s")
    parser.add_argument("script", metavar="SCRIPT.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Launches; returns the exit code of the job."""
    from moxing.launch.folder import log_folder
    from moxing.launch.isolate import isolate
    from moxing.launch.plan import Plan, check
    from moxing.launch.supervise import supervise

    given = _parser().parse_args(list(arguments))
    plan = Plan(given.script, tuple(given.arguments), given.workers, given.ps, given.num_gpus)
    if not given.emit and not os.path.isfile(given.script):
        print(f"mox: error: there is no file {given.script} in {os.getcwd()}.", file=sys.stderr)
        return 2
    if given.max_restarts < 0:
        print(f"mox: error: --max_restarts={given.max_restarts} is negative.", file=sys.stderr)
        return 2
    try:
        check(plan)
        if given.emit:
            print(_emitted(plan, given), end="")
            return 0
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 2
    try:
        if given.isolate:
            isolate()
        return supervise(plan, log_folder(given.logs, given.script), given.max_restarts)
    except (MoxError, OSError) as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1


def _emitted(plan: Plan, given: argparse.Namespace) -> str:
    from moxing.launch import kubernetes, slurm

    if given.emit == "slurm":
        return slurm.sbatch(plan, given.max_restarts)
    if not given.image:
        raise MoxValueError("--emit=k8s needs --image=IMAGE, which holds the program and openmox.")
    return kubernetes.manifest(plan, given.max_restarts, given.image)
