"""Plans a launch: the tasks of a job, and the command of each."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from moxing.cluster import secret
from moxing.cluster.cluster import MOST_TASKS, PS, WORKER
from moxing.errors import MoxValueError, shown
from moxing.launch import gpus, inherited
from moxing.launch.ports import free_ports
from moxing.launch.start import Start

HOST = "127.0.0.1"
MOST = 256  # Most processes on one machine; a larger number is a mistake, and would overload it.
_OWN_FLAGS = ("--job_name", "--task_index", "--worker_hosts", "--ps_hosts")


@dataclass(frozen=True)
class Plan:
    """A job: how many tasks of each kind run a script.

    Attributes:
        script: path of the program, or the name of its module.
        arguments: its flags.
        workers, ps: how many tasks; `ps` are parameter servers.
        num_gpus: devices of each worker; None leaves that to the script and its flags.
        runner: the command before the script's path.
        as_module: whether `script` is a module, as in `python -m trainer.task`.
    """

    script: str
    arguments: tuple[str, ...] = ()
    workers: int = 1
    ps: int = 0
    num_gpus: int | None = None
    runner: tuple[str, ...] = (sys.executable, "-m", "moxing", "run")
    as_module: bool = False

    @property
    def title(self) -> str:
        return "mox launch"

    @property
    def over_ssh(self) -> bool:
        return False

    @property
    def tasks(self) -> list[tuple[str, int]]:
        """The kind and the index of every task, the workers first."""
        return [(WORKER, i) for i in range(self.workers)] + [(PS, i) for i in range(self.ps)]

    @property
    def program(self) -> list[str]:
        """The script and its flags, without the flags that differ between tasks."""
        devices = [] if self.num_gpus is None else [f"--num_gpus={self.num_gpus}"]
        return [*(["-m"] if self.as_module else []), self.script, *self.arguments, *devices]

    def starts(self, environ: Mapping[str, str]) -> dict[str, Start]:
        """Returns how to start each task, on ports that are free now."""
        check_count(self.workers + self.ps)
        shared = environment(environ)
        shares = gpus.shares(self.workers, self.num_gpus, shared)
        shares += [gpus.hidden(shared)] * self.ps
        return {
            name: Start(command, {**shared, **share})
            for (name, command), share in zip(commands(self).items(), shares, strict=True)
        }


def check(plan: Plan) -> None:
    """Refuses a plan that makes no sense.

    Raises:
        MoxValueError: a flag's value makes no sense; the message names the flag.
    """
    if plan.workers < 1:
        raise MoxValueError(f"--workers={plan.workers} is too few; a job has at least 1 worker.")
    if plan.ps < 0:
        raise MoxValueError(f"--ps={plan.ps} is negative; 0 means no parameter server.")
    if plan.workers + plan.ps > MOST_TASKS:
        raise MoxValueError(
            f"--workers and --ps ask for {shown(plan.workers + plan.ps)} tasks; {MOST_TASKS} is"
            " the most."
        )
    if plan.num_gpus is not None and plan.num_gpus < 0:
        raise MoxValueError(f"--num_gpus={plan.num_gpus} is negative.")
    if plan.num_gpus is not None and plan.num_gpus > gpus.MOST:
        raise MoxValueError(
            f"--num_gpus={shown(plan.num_gpus)}: no process has more than {gpus.MOST} devices."
        )
    taken = [*_OWN_FLAGS, *(["--num_gpus"] if plan.num_gpus is not None else [])]
    for argument in plan.arguments:
        name = "--" + argument.lstrip("-").partition("=")[0]
        if argument.startswith("-") and name in taken:
            raise MoxValueError(f"{argument} after the script: mox launch sets {name} itself.")


def check_count(processes: int) -> None:
    """Refuses more processes than a machine can run.

    Raises:
        MoxValueError: there are too many; the message has their number.
    """
    if processes > MOST:
        raise MoxValueError(
            f"{shown(processes)} processes on one machine are too many; {MOST} is the most."
        )


def commands(plan: Plan) -> dict[str, list[str]]:
    """The command of every task by its name, such as `worker 1`, on ports that are free now."""
    ports = free_ports(plan.workers + plan.ps)
    addresses = [f"{HOST}:{port}" for port in ports]
    workers, ps = addresses[: plan.workers], addresses[plan.workers :]
    found = {}
    for job, index in plan.tasks:
        own = []
        # A single process is no cluster, and opens no port.
        if len(addresses) > 1:
            own = [f"--job_name={job}", f"--task_index={index}"]
            own += ["--worker_hosts=" + ",".join(workers)]
            own += ["--ps_hosts=" + ",".join(ps)] if ps else []
        found[f"{job} {index}"] = [*plan.runner, *plan.program, *own]
    return found


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the tasks' environment: unbuffered output, no proxy, no other cluster's variables.

    Each call adds a new secret, so that tasks of an earlier start can't join the next one.
    """
    result = dict(environ, PYTHONUNBUFFERED="1")
    for name in inherited.foreign(environ):
        del result[name]
    result.pop(secret.FILE_VARIABLE, None)
    result[secret.VARIABLE] = secret.new()
    name = "no_grpc_proxy" if environ.get("no_grpc_proxy") else "no_proxy"
    parts = [part for part in environ.get(name, "").split(",") if part.strip()]
    if HOST not in parts:
        result[name] = ",".join([*parts, HOST])
    return result
