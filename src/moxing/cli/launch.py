"""`mox launch --workers=N script.py ...`: the tasks of a job, on this machine or several."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from moxing.cli.options import Parser
from moxing.errors import MoxError, MoxValueError, near_files

if TYPE_CHECKING:
    from moxing.launch.hosts import Spread
    from moxing.launch.plan import Plan
    from moxing.launch.private.job import Private

_DESCRIPTION = """\
Starts a program as several processes, shows what they print, and starts all of them again from the
last checkpoint when one dies. What stands after SCRIPT.py is the program's."""

_KUBERNETES = ("k8s", "jobset", "tfjob")
_OF_PODS = (
    ("image", "IMAGE", "image of the containers, which holds the program and openmox"),
    ("name", "NAME", "name of the job; default: the script's"),
    ("namespace", "NAME", "namespace of the job"),
    ("cpu", "N", "processors that each pod asks for, such as 4"),
    ("memory", "SIZE", "memory that each pod asks for, and may use, such as 16Gi"),
    ("gpu", "N", "GPUs of each worker; default: --num_gpus"),
    ("shm", "SIZE", "size of /dev/shm, such as 8Gi"),
    ("service-account", "NAME", "ServiceAccount of the pods"),
)
_OF_PODS_REPEATED = (
    ("env", "NAME=VALUE", "a variable of the containers"),
    ("secret", "NAME", "a Secret whose keys become their variables"),
    ("volume", "CLAIM:/PATH", "a PersistentVolumeClaim, and where they find it"),
    ("node-selector", "KEY=VALUE", "a label of the nodes to run on"),
    ("toleration", "KEY[=VALUE][:EFFECT]", "a taint of nodes to run on all the same"),
    ("pull-secret", "NAME", "a Secret for the image's registry"),
)


# The launcher's own names. A program may have such a flag, too.
_BEFORE_SCRIPT = ("--workers", "--ps", "--hosts", "--ssh", "--private", "--emit", "--max_restarts")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="mox launch", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument(
        "--workers", type=int, metavar="N", help="workers; default: 1, with --hosts one on each"
    )
    parser.add_argument(
        "--ps", type=int, default=0, metavar="N", help="parameter servers; default: 0"
    )
    parser.add_argument("--num_gpus", type=int, metavar="N", help="devices of each worker")
    parser.add_argument(
        "--max_restarts",
        type=int,
        default=3,
        metavar="N",
        help="how many times the job is started again after a task has died; default: 3",
    )
    parser.add_argument(
        "--grace",
        type=float,
        metavar="SECONDS",
        help="time for tasks to save and end when they are told to stop; default: 300, with"
        " --emit=slurm 120",
    )
    parser.add_argument(
        "--logs",
        metavar="DIR",
        help="folder for the output of each task; default: a new one in mox-logs",
    )
    parser.add_argument(
        "--hosts",
        metavar="A,B",
        help="machines that share the tasks: prints the command for each, or runs it with --ssh",
    )
    parser.add_argument(
        "--ssh",
        action="store_true",
        help="with --hosts: run the commands on the machines, over ssh",
    )
    parser.add_argument(
        "--private",
        action="store_true",
        help="with --ssh or --emit=slurm: no port of the job is open to anybody; ssh carries its"
        " connections",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=2222,
        metavar="P",
        help="with --hosts: the first port of each machine; default: 2222",
    )
    parser.add_argument(
        "--isolate",
        action=argparse.BooleanOptionalAction,
        help="run in a network of its own: nobody outside reaches the ports of the job;"
        " default: for several tasks, where slirp4netns lets them reach what this machine reaches",
    )
    parser.add_argument(
        "--emit",
        choices=("slurm", *_KUBERNETES),
        help="start nothing: print an sbatch script (one worker a node), or for Kubernetes Indexed"
        " Jobs, a JobSet, or a TFJob (training operator up to 1.9)",
    )
    pods = parser.add_argument_group("pods", "for --emit=k8s, jobset and tfjob")
    for name, form, what in _OF_PODS:
        kind = int if name == "gpu" else str
        pods.add_argument(f"--{name}", type=kind, metavar=form, help=what)
    for name, form, what in _OF_PODS_REPEATED:
        pods.add_argument(
            f"--{name}", action="append", default=[], metavar=form, help=f"{what}; may be repeated"
        )
    parser.add_argument(
        "-m",
        dest="as_module",
        action="store_true",
        help="SCRIPT.py is the name of a module, such as trainer.task",
    )
    parser.add_argument("script", metavar="SCRIPT.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Launches; returns the exit code of the job."""
    from moxing.launch.folder import log_folder
    from moxing.launch.gang import limits_with
    from moxing.launch.isolation.choice import choose
    from moxing.launch.plan import Plan
    from moxing.launch.private.job import Private
    from moxing.launch.supervise import supervise

    given = _parser().parse_args(list(arguments))
    try:
        job, limits = _job(given), limits_with(given.grace)
        folder = log_folder(given.logs, given.script)
        text = _text(job, given)
    except MoxError as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 2
    for option in _misplaced(given.arguments):
        print(
            f"mox: note: {option} stands behind {given.script}, so it is the program's: options of"
            " mox launch stand before the script.",
            file=sys.stderr,
        )
    if text:
        print(text, end="")
        return 0
    try:
        network = job.network if isinstance(job, Private) else None
        if isinstance(job, Plan):
            network = choose(given.isolate, has_ports=len(job.tasks) > 1)
        return supervise(job, folder, given.max_restarts, limits=limits, network=network)
    except (MoxError, OSError) as error:
        print(f"mox: error: {error}", file=sys.stderr)
        return 1


def _misplaced(arguments: Sequence[str]) -> list[str]:
    """Returns the options of the launcher that are among the arguments of the program."""
    names = [argument.partition("=")[0] for argument in arguments]
    return [name for name in _BEFORE_SCRIPT if name in names]


def _job(given: argparse.Namespace) -> Plan | Spread | Private:
    from moxing.launch.hosts import spread
    from moxing.launch.plan import Plan, check
    from moxing.launch.private.job import private

    _check(given)
    hosts = [part for part in (given.hosts or "").split(",") if part.strip()]
    workers = max(len(hosts), 1) if given.workers is None else given.workers
    plan = Plan(
        given.script,
        tuple(given.arguments),
        workers,
        given.ps,
        given.num_gpus,
        as_module=given.as_module,
    )
    check(plan)
    if given.hosts is None:
        return plan
    job = spread(plan, given.hosts, given.port)
    return private(job) if given.private else job


def _check(given: argparse.Namespace) -> None:
    if not (given.emit or given.as_module) and not os.path.isfile(given.script):
        near = near_files(given.script)
        raise MoxValueError(f"there is no file {given.script} in {os.getcwd()}.{near}")
    if given.max_restarts < 0:
        raise MoxValueError(f"--max_restarts={given.max_restarts} is negative.")
    if given.ssh and given.hosts is None:
        raise MoxValueError("--ssh needs --hosts=A,B, the machines to go to.")
    if given.private and given.emit in _KUBERNETES:
        raise MoxValueError(
            f"--private with --emit={given.emit}: the manifest's NetworkPolicy keeps others out."
        )
    if given.private and not given.ssh and not given.emit:
        raise MoxValueError(
            "--private needs --hosts=A,B and --ssh, which carries the connections. On one machine,"
            " --isolate keeps others out."
        )
    if given.hosts is not None and given.emit:
        raise MoxValueError(f"--hosts with --emit={given.emit}: the scheduler chooses machines.")
    for name, _, _ in (*_OF_PODS, *_OF_PODS_REPEATED):
        value = getattr(given, name.replace("-", "_"))
        if value not in (None, []) and given.emit not in _KUBERNETES:
            raise MoxValueError(f"--{name} needs --emit=k8s: it says what pods are made of.")
    if given.emit and given.isolate:
        raise MoxValueError(f"--isolate with --emit={given.emit}: the scheduler sets up networks.")
    if given.emit and given.logs:
        raise MoxValueError(f"--logs with --emit={given.emit}: the scheduler keeps the output.")
    if given.hosts is not None and given.isolate:
        raise MoxValueError("--hosts with --isolate: a network of its own is within one machine.")


def _text(job: Plan | Spread | Private, given: argparse.Namespace) -> str:
    """Returns the text to print instead of running the job; empty if the job is to run."""
    from moxing.launch.hosts import Spread, described
    from moxing.launch.plan import Plan

    if isinstance(job, Spread):
        return "" if given.ssh else described(job)
    return _emitted(job, given) if isinstance(job, Plan) and given.emit else ""


def _emitted(plan: Plan, given: argparse.Namespace) -> str:
    from moxing.launch import gang, slurm
    from moxing.launch.kubernetes import manifest, pods

    if given.emit == "slurm":
        grace = slurm.GRACE_SECONDS if given.grace is None else given.grace
        script = slurm.private if given.private else slurm.sbatch
        return script(plan, given.max_restarts, grace)
    if not given.image:
        raise MoxValueError(
            f"--emit={given.emit} needs --image=IMAGE, which holds the program and openmox."
        )
    grace = gang.GRACE_SECONDS if given.grace is None else given.grace
    each = pods.pods(vars(given), grace)
    for sentence in pods.lost(plan.arguments, each):
        print(f"mox: warning: {sentence}", file=sys.stderr)
    return manifest.manifest(plan, given.max_restarts, each, given.emit)
