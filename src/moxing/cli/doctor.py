"""`mox doctor`: looks for what would keep a program from running."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from moxing.doctor import machine, network
from moxing.doctor.finding import BAD

_DESCRIPTION = """\
Looks at this machine: versions, devices, the disk. With --cluster also at the processes that
flags or the environment (TF_CONFIG and the like) describe: addresses, proxies, ports."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mox doctor", description=_DESCRIPTION)
    parser.add_argument("--directory", default=".", help="where a program would write")
    parser.add_argument("--cluster", action="store_true", help="look at the cluster too")
    for name in ("job_name", "ps_hosts", "worker_hosts"):
        parser.add_argument(f"--{name}", default="", help="as of mox run")
    parser.add_argument("--task_index", type=int, default=0, help="as of mox run")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Prints a line for each thing looked at.

    Returns:
        0, or 1 where something is found with which nothing runs.
    """
    given = _parser().parse_args(arguments)
    found = list(machine.findings(given.directory))
    if given.cluster or given.worker_hosts:
        found += network.findings(vars(given), os.environ)
    for finding in found:
        print(finding)
    return 1 if any(finding.verdict == BAD for finding in found) else 0
