"""Reads the cluster from the variables that Slurm sets in the tasks of `srun`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from moxing.cluster.cluster import MOST_TASKS, WORKER, Cluster
from moxing.errors import MoxValueError, shown

SOURCE = "the Slurm variables"
# Ports depend on the job's number, so that jobs on one node do not meet.
_FIRST_PORT = 20000
_PORTS = 10000
_PORTS_A_JOB = 16
_NUMBER = "[0-9]{1,18}"
_MOST_RANGES = 16  # Ranges in one node name.


def read(environ: Mapping[str, str]) -> Cluster | None:
    """Returns all tasks of the step as workers; None outside of Slurm or with one task.

    A step's own variables (SLURM_STEP_*) are read before the job's. Task 0 is the chief. Ports are
    20000 + (16 * job number modulo 10000), plus the task's number on its node.
    """
    if not environ.get("SLURM_PROCID"):
        return None
    count = _number(environ, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", missing=1)
    node_list = _first(environ, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")
    if count < 2 or not node_list:
        return None
    index = _number(environ, "SLURM_PROCID")
    if count > MOST_TASKS:
        raise MoxValueError(
            f"Slurm's variables say {count} tasks; no more than {MOST_TASKS} can meet."
        )
    nodes = expand(node_list)
    port = _FIRST_PORT + _number(environ, "SLURM_JOB_ID", missing=0) * _PORTS_A_JOB % _PORTS
    places = _places(environ, len(nodes), count)
    if environ.get("SLURM_NODEID") and 0 <= index < count:
        node = _number(environ, "SLURM_NODEID")
        if places[index][0] != node:
            raise MoxValueError(
                f"Slurm runs task {index} on node {node} of {node_list}, where a block distribution"
                f" has it on node {places[index][0]}. Use srun --distribution=block, or pass"
                " --worker_hosts, --job_name and --task_index."
            )
    workers = tuple(f"{nodes[node]}:{port + local}" for node, local in places)
    return Cluster(workers, (), WORKER, index, SOURCE)


def expand(node_list: str) -> list[str]:
    """Returns the names in a node list such as `gpu[01-03,7]-a,login`.

    Raises:
        MoxValueError: brackets or ranges that can't be read.
    """
    names: list[str] = []
    for part in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", node_list):
        names += _expanded(part, node_list)
        if len(names) > MOST_TASKS:
            raise MoxValueError(f"The node list {shown(node_list)} of Slurm is too long.")
    if not names or node_list.count("[") != node_list.count("]"):
        raise MoxValueError(f"The node list {shown(node_list)} of Slurm can't be read.")
    return names


def _expanded(part: str, whole: str) -> list[str]:
    match = re.match(r"([^\[]*)\[([^\]]*)\](.*)", part)
    if match is None:
        return [part.strip()]
    if part.count("[") > _MOST_RANGES:
        raise MoxValueError(f"The node list {shown(whole)} of Slurm has too many ranges.")
    names: list[str] = []
    rests = _expanded(match[3], whole)
    for span in match[2].split(","):
        ends = re.fullmatch(rf"\s*({_NUMBER})(?:-({_NUMBER}))?\s*", span)
        first, last = (ends[1], ends[2] or ends[1]) if ends else ("1", "0")
        count = int(last) - int(first) + 1
        if count < 1 or count * len(rests) + len(names) > MOST_TASKS:
            raise MoxValueError(
                f"The node list {shown(whole)} of Slurm can't be read: {shown(span)}."
            )
        middles = [f"{n:0{len(first)}d}" for n in range(int(first), int(last) + 1)]
        names += [match[1] + m + rest for m in middles for rest in rests]
    return names


def _places(environ: Mapping[str, str], nodes: int, count: int) -> list[tuple[int, int]]:
    """Returns each task's node and its number there, in blocks, as srun does by default."""
    text = _first(environ, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
    each = _counts(text) if text else [len(range(n, count, nodes)) for n in range(nodes)]
    if len(each) != nodes or sum(each) != count:
        raise MoxValueError(
            f"Slurm's variables don't fit: {count} tasks on {nodes} nodes, with {shown(text)} tasks"
            " on each. Pass --worker_hosts, --job_name and --task_index instead."
        )
    return [(node, local) for node, tasks in enumerate(each) for local in range(tasks)]


def _counts(text: str) -> list[int]:
    counts: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(rf"({_NUMBER})(?:\(x({_NUMBER})\))?", part.strip())
        if match is None or int(match[2] or 1) + len(counts) > MOST_TASKS:
            raise MoxValueError(f"Slurm's tasks per node {shown(text)} can't be read.")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _first(environ: Mapping[str, str], *names: str) -> str:
    return next((environ[name] for name in names if environ.get(name)), "")


def _number(environ: Mapping[str, str], *names: str, missing: int | None = None) -> int:
    text = _first(environ, *names)
    if not text and missing is not None:
        return missing
    if not re.fullmatch(_NUMBER, text):
        raise MoxValueError(f"{' or '.join(names)} is {shown(text)}, not a number; Slurm sets it.")
    return int(text)
