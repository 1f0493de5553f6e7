"""A frozen description of the processes of a job, and of this process's role among them."""

from __future__ import annotations

from dataclasses import dataclass, field

from moxing.cluster.secret import Secret

WORKER, PS, EVALUATOR = "worker", "ps", "evaluator"
MOST_TASKS = 100_000  # A larger number is a mistake, and such a list would fill the memory.


@dataclass(frozen=True)
class Cluster:
    """The tasks of a job by address.

    Attributes:
        workers: `host:port` of each worker; the first is the chief, which saves and exports.
        ps: `host:port` of each parameter server.
        job: the role of this process: `worker`, `ps` or `evaluator`.
        index: the number of this process among the processes of its role, from 0.
        source: where the description was read (`flags`, `TF_CONFIG`, ...), for messages.
        secret: the secret that the tasks prove to each other when they meet; None if the job has
            none.
    """

    workers: tuple[str, ...]
    ps: tuple[str, ...] = ()
    job: str = WORKER
    index: int = 0
    source: str = "flags"
    secret: Secret | None = field(default=None, repr=False, compare=False)

    @property
    def is_chief(self) -> bool:
        return self.job == WORKER and self.index == 0

    @property
    def size(self) -> int:
        """How many workers there are."""
        return len(self.workers)

    @property
    def task(self) -> str:
        """The name of this process in messages, such as `worker 1`."""
        return f"{self.job} {self.index}"

    @property
    def address(self) -> str:
        """This task's `host:port`; empty for an evaluator, to which no task connects."""
        return self.tasks.get(self.task, "")

    @property
    def alone(self) -> bool:
        """Whether the job has one worker and no parameter server."""
        return self.job == WORKER and len(self.workers) == 1 and not self.ps

    @property
    def tasks(self) -> dict[str, str]:
        """`host:port` of every task, by its name: the workers first, then the ps."""
        workers = {f"worker {i}": address for i, address in enumerate(self.workers)}
        return workers | {f"ps {i}": address for i, address in enumerate(self.ps)}


def named(task: str, address: str) -> str:
    """The name of a task in messages: `worker 1 (10.0.0.2:2222)`."""
    return f"{task} ({address})" if address else task
