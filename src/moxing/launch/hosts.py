"""Spreads the tasks of a job over several machines, and makes the command of each task."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from moxing.cluster import secret
from moxing.cluster.addresses import LONGEST_HOST
from moxing.cluster.cluster import PS, WORKER
from moxing.errors import MoxValueError, shown
from moxing.framework import shell
from moxing.launch import gpus
from moxing.launch.guard import WITH_SECRET
from moxing.launch.plan import Plan
from moxing.launch.start import Start

# ssh must not ask for a password, which nobody would see, and must notice a dead machine.
SSH = (
    *("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
)
_HIGHEST_PORT = 65535
Task = tuple[str, int]  # A kind, and an index.
MOST = 2000  # Most machines, and most tasks.
_KEEP_OUT = (
    "# To keep others out, make a secret once, and copy its file to the same path on each machine:",
    "#   (umask 077; openssl rand -hex 32 > ~/mox-job.secret)",
    f"# and put {secret.FILE_VARIABLE}=~/mox-job.secret before each of these commands.",
)


@dataclass(frozen=True)
class Spread:
    """A plan on machines that have the program and openmox under the same paths as this one.

    Attributes:
        plan: the tasks to run.
        hosts: the names by which the machines reach each other; `user@` before a name is for ssh.
        port: the port of the first task on each machine; the others have the ports after it.
        directory: the working directory of each task.
    """

    plan: Plan
    hosts: tuple[str, ...]
    port: int
    directory: Path

    @property
    def title(self) -> str:
        return self.plan.title

    @property
    def over_ssh(self) -> bool:
        return True

    def starts(self, environ: Mapping[str, str]) -> dict[str, Start]:
        """Returns how to start each task over ssh, whose input carries a new secret of the job."""
        found, shared, addresses = {}, secret.new(), addresses_of(self)
        for task in places(self):
            command = over_ssh(self, task, addresses)
            found[f"{task[0]} {task[1]}"] = Start(command, environ, listens=True, secret=shared)
        return found


def spread(plan: Plan, hosts: str, port: int) -> Spread:
    """Returns a plan on the machines of a comma-separated list.

    Raises:
        MoxValueError: the list or the port is not valid.
    """
    names = tuple(part.strip() for part in hosts.split(",") if part.strip())
    if not names:
        raise MoxValueError(f"--hosts={hosts} names no machine: --hosts=a,b.")
    if max(len(names), plan.workers + plan.ps) > MOST:
        raise MoxValueError(
            f"--hosts with {len(names)} machines and {shown(plan.workers + plan.ps)} tasks: {MOST}"
            " is the most, as each task's command names all. Use --emit=slurm or --emit=k8s."
        )
    times = Counter(address(name) for name in names)
    for name in names:
        legal = name.isprintable() and len(name) <= LONGEST_HOST and not name.startswith("-")
        if not legal or any(c in name for c in ":/ ") or not address(name):
            raise MoxValueError(
                f"--hosts: {shown(name)} is no name of a machine; ports are chosen by --port."
            )
        if times[address(name)] > 1:
            raise MoxValueError(f"--hosts={shown(hosts, plain=True)} names {address(name)} twice.")
    if plan.workers < len(names):
        raise MoxValueError(
            f"--workers={plan.workers} is too few for {len(names)} hosts; each has at least one."
        )
    if not 0 < port <= _HIGHEST_PORT - plan.workers - plan.ps:
        raise MoxValueError(f"--port={port} must be from 1 to {_HIGHEST_PORT}, with room behind.")
    return Spread(plan, names, port, Path(os.getcwd()))


def over_ssh(
    job: Spread, task: Task, addresses: Mapping[Task, str], options: Sequence[str] = ()
) -> list[str]:
    """Returns the command that runs a task on its machine.

    Args:
        job: has the task.
        task: its kind and its index.
        addresses: by which the tasks reach each other.
        options: further words for the guard of the task.
    """
    guard = [sys.executable, "-m", "moxing.launch.guard", WITH_SECRET, *options]
    share = "".join(f"{name}={value} " for name, value in _share(job, task).items())
    folder, host = str(job.directory), places(job)[task]
    missing = (
        f"mox launch: {host} has no folder {folder}, in which the program starts. Copy the program"
        " to the same path there, or mount its folder."
    )
    enter = (
        f"cd {shlex.quote(folder)} 2>/dev/null || {{ echo {shlex.quote(missing)} >&2; exit 1; }}"
    )
    words = [*guard, *job.plan.runner, *_program(job, task, addresses)]
    return [*SSH, "--", host, f"{enter}; PYTHONUNBUFFERED=1 {share}exec {shlex.join(words)}"]


def described(job: Spread) -> str:
    """Returns the commands to type on each machine."""
    lines: list[str] = [*_KEEP_OUT] if len(job.plan.tasks) > 1 else []
    addresses = addresses_of(job)
    for host in job.hosts:
        lines.append(f"# On {host}:")
        here = [task for task, place in places(job).items() if place == host]
        for task in here:
            share = [f"{name}={value}" for name, value in _share(job, task).items()]
            lines.append(shell.joined([*share, "mox", "run", *_program(job, task, addresses)]))
    return "\n".join(lines) + "\n"


def places(job: Spread) -> dict[Task, str]:
    """Returns the machine of each task: workers in blocks, parameter servers in turn."""
    plan, count = job.plan, len(job.hosts)
    found = {(WORKER, i): job.hosts[i * count // plan.workers] for i in range(plan.workers)}
    return found | {(PS, i): job.hosts[i % count] for i in range(plan.ps)}


def _share(job: Spread, task: Task) -> dict[str, str]:
    """Returns the variable for a task's GPUs, if its machine runs several tasks."""
    kind, index = task
    each, where = job.plan.num_gpus or 0, places(job)
    if not each or list(where.values()).count(where[task]) == 1:
        return {}
    if kind == PS:
        return {gpus.VARIABLE: gpus.NONE}
    before = sum(where[WORKER, i] == where[task] for i in range(index))
    return gpus.slice_of([str(i) for i in range((before + 1) * each)], before, each)


def addresses_of(job: Spread) -> dict[Task, str]:
    """Returns where each task listens: the first task of a machine has the job's port."""
    next_port, found = dict.fromkeys(job.hosts, job.port), {}
    for task, host in places(job).items():
        found[task] = f"{address(host)}:{next_port[host]}"
        next_port[host] += 1
    return found


def address(host: str) -> str:
    """Returns the name of a machine without the user name for ssh."""
    return host.rpartition("@")[2]


def _program(job: Spread, task: Task, addresses: Mapping[Task, str]) -> list[str]:
    """Returns the script of a task and its flags."""
    listed: dict[str, list[str]] = {WORKER: [], PS: []}
    for (kind, _), at in addresses.items():
        listed[kind].append(at)
    own = [f"--job_name={task[0]}", f"--task_index={task[1]}"]
    own += ["--worker_hosts=" + ",".join(listed[WORKER])]
    own += ["--ps_hosts=" + ",".join(listed[PS])] if listed[PS] else []
    return [*job.plan.program, *(own if len(job.plan.tasks) > 1 else [])]
