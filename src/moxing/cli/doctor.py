"""`mox doctor`: looks for problems that would keep a program from running."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence

from moxing.cli.options import Parser
from moxing.doctor import environment, machine, network, own_network
from moxing.doctor.finding import BAD, Finding

_DESCRIPTION = """\
Looks at this machine: versions, devices, the disk. With --cluster also at the processes that
flags or the environment (TF_CONFIG and the like) describe: addresses, proxies, ports."""


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="mox doctor", description=_DESCRIPTION)
    parser.add_argument(
        "--directory", default=".", help="where a program would write, here or in a store"
    )
    parser.add_argument("--cluster", action="store_true", help="look at the cluster too")
    parser.add_argument(
        "--meet",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="wait so long for the doctors of the cluster's other tasks, and compare with them",
    )
    for name in ("job_name", "ps_hosts", "worker_hosts"):
        parser.add_argument(f"--{name}", default="", help="the flag of that name of mox run")
    parser.add_argument(
        "--task_index", type=int, default=0, help="the flag of that name of mox run"
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Prints a line for each check.

    Returns:
        0, or 1 if a check finds a problem with which no job runs.
    """
    given = _parser().parse_args(arguments)
    bad = False
    for finding in _findings(given):
        print(finding, flush=True)
        bad = bad or finding.verdict == BAD
    return 1 if bad else 0


def _findings(given: argparse.Namespace) -> Iterator[Finding]:
    yield from machine.findings(given.directory)
    yield own_network.finding()
    yield from environment.findings(os.environ)
    described = given.worker_hosts or given.ps_hosts or os.environ.get("TF_CONFIG")
    if given.cluster or given.meet > 0 or described:
        yield from network.findings(vars(given), os.environ, max(given.meet, 0.0))
