"""The variables of Huawei Cloud's DLS and ModelArts, which describe the nodes of a job."""

from __future__ import annotations

from collections.abc import Mapping

from moxing.cluster.addresses import named_in, split
from moxing.cluster.cluster import PS, WORKER, Cluster
from moxing.errors import MoxValueError, shown

# The port of TensorFlow's examples, for hosts without a port.
DEFAULT_PORT = 2222
_DIGITS = 18


def read(environ: Mapping[str, str]) -> Cluster | None:
    """Reads DLS_* with BATCH_CUSTOM<i>_HOSTS, or VC_*; None with one node or without variables.

    `MA_TASK_NAME=ps` makes this process a parameter server; VC_PS_HOSTS lists such hosts.
    """
    return _dls(environ) or _vc(environ)


def _dls(environ: Mapping[str, str]) -> Cluster | None:
    if not environ.get("DLS_TASK_NUMBER") or not environ.get("BATCH_CUSTOM0_HOSTS"):
        return None
    count = _number(environ, "DLS_TASK_NUMBER")
    if count < 2:
        return None
    workers = []
    for task in range(count):
        name = f"BATCH_CUSTOM{task}_HOSTS"
        hosts = _hosts(environ, name)
        if not hosts:
            raise MoxValueError(
                f"DLS_TASK_NUMBER={count}, but {name} is not set: the platform sets one for each "
                "task. Pass --worker_hosts, --job_name and --task_index instead."
            )
        workers.append(hosts[0])
    index = _number(environ, "DLS_TASK_INDEX")
    return Cluster(tuple(workers), (), WORKER, index, "the DLS variables")


def _vc(environ: Mapping[str, str]) -> Cluster | None:
    workers, ps = _hosts(environ, "VC_WORKER_HOSTS"), _hosts(environ, "VC_PS_HOSTS")
    if len(workers) + len(ps) < 2:
        return None
    for name in ("VC_WORKER_NUM", "MA_NUM_HOSTS"):
        count = _number(environ, name) if environ.get(name) else len(workers)
        if count not in (len(workers), len(workers) + len(ps)):
            raise MoxValueError(
                f"{name}={count}, but VC_WORKER_HOSTS names {len(workers)} hosts: "
                f"{named_in(environ['VC_WORKER_HOSTS'].split(','))}."
            )
    job = environ.get("MA_TASK_NAME") or WORKER
    if job not in (WORKER, PS):
        raise MoxValueError(f"MA_TASK_NAME={shown(job)} is unknown; it is 'worker' or 'ps'.")
    return Cluster(workers, ps, job, _number(environ, "VC_TASK_INDEX"), "the VC variables")


def _hosts(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    parts = [part.strip() for part in environ.get(name, "").split(",") if part.strip()]
    addresses = tuple(part if ":" in part else f"{part}:{DEFAULT_PORT}" for part in parts)
    for address in addresses:
        split(address, name)
    return addresses


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
        what = f"is {shown(text)}, not a number" if text else "is not set"
        raise MoxValueError(f"The environment variable {name} {what}; the platform sets it.")
    return int(text)
