"""Reads the cluster from the four flags of TensorFlow's distributed examples."""

from __future__ import annotations

from collections.abc import Mapping

from moxing.cluster.addresses import listed
from moxing.cluster.cluster import PS, WORKER, Cluster
from moxing.errors import MoxValueError, near_matches, shown

SOURCE = "flags"


def read(given: Mapping[str, object], argv0: str) -> Cluster | None:
    """Returns the cluster of `--job_name --task_index --ps_hosts --worker_hosts`.

    An empty `--job_name` means one process, unless a list names several.

    Args:
        given: the flags' values by name; a missing flag is empty.
        argv0: the program, for the example in messages.
    """
    job = str(given.get("job_name") or "").strip()
    workers = listed(str(given.get("worker_hosts") or ""), "--worker_hosts")
    ps = listed(str(given.get("ps_hosts") or ""), "--ps_hosts")
    if not job:
        if len(workers) + len(ps) < 2:
            return None
        raise MoxValueError(
            f"--worker_hosts and --ps_hosts name {len(workers) + len(ps)} processes, but "
            f"--job_name does not say which of them this is. {_example(argv0)}"
        )
    if job not in (WORKER, PS):
        raise MoxValueError(
            f"--job_name={shown(job, plain=True)} is unknown; it is 'worker' or 'ps'."
            + near_matches(job, [WORKER, PS])
        )
    if not workers:
        raise MoxValueError(f"--job_name={job} needs --worker_hosts. {_example(argv0)}")
    return Cluster(workers, ps, job, _index(given.get("task_index")), SOURCE)


def _index(value: object) -> int:
    try:
        return int(str(value or 0))
    except ValueError:
        raise MoxValueError(f"--task_index={shown(value)} is not a number.") from None


def _example(argv0: str) -> str:
    return (
        f"For example: {argv0 or 'script.py'} --worker_hosts=10.0.0.1:2222,10.0.0.2:2222"
        " --job_name=worker --task_index=0 (and 1 on the other machine)."
    )
