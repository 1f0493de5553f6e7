"""Reads TF_CONFIG, which TensorFlow's launchers, Kubernetes' TFJob and UAI Train set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from moxing.cluster.addresses import split
from moxing.cluster.cluster import EVALUATOR, PS, WORKER, Cluster
from moxing.errors import MoxValueError, near_matches, shown

SOURCE = "TF_CONFIG"
_CHIEFS = ("chief", "master")
_ROLES = (*_CHIEFS, WORKER, PS, EVALUATOR)
# Most digits of a task's index; Python itself refuses numbers of more than 4,300 digits.
_DIGITS = 18
_FORM = (
    'Its form: {"cluster": {"chief": ["host:port"], "worker": ["host:port"], "ps": []},'
    ' "task": {"type": "worker", "index": 0}}'
)


def read(environ: Mapping[str, str]) -> Cluster | None:
    """Returns the cluster of TF_CONFIG. `chief` or `master` is worker 0; the others follow.

    Returns None if TF_CONFIG is unset or empty, if its cluster is an empty object, or if it has no
    cluster and names no second process.
    """
    text = environ.get(SOURCE, "").strip()
    if not text:
        return None
    config = _object(_parsed(text), "TF_CONFIG")
    if "cluster" not in config:
        if _is_alone(config):
            return None
        raise _error(f"has no 'cluster': {shown(text, plain=True)}")
    roles = _roles(_object(config["cluster"], "TF_CONFIG's cluster"))
    if not roles:
        return None
    if "task" not in config:
        raise _error(f"has no 'task', so it does not say which process this is: {shown(text)}")
    chief = next((role for role in _CHIEFS if role in roles), None)
    workers = (*roles.get(chief or "", ()), *roles.get(WORKER, ()))
    if not workers:
        raise _error(f"names no chief and no worker: {shown(text, plain=True)}")
    job, index = _task(_object(config["task"], "TF_CONFIG's task"), roles, chief)
    return Cluster(workers, roles.get(PS, ()), job, index, SOURCE)


def _is_alone(config: Mapping[str, Any]) -> bool:
    """Whether a TF_CONFIG without a cluster can only mean one process.

    Hosted services wrote `{}`, or the first process's task beside keys of their own.
    """
    task = config.get("task") or {}
    first = isinstance(task, dict) and task.get("type", WORKER) in (*_CHIEFS, WORKER)
    return first and _number(task.get("index", 0)) == 0 and not _misspelled(config)


def with_chief(text: str) -> str:
    """Returns TF_CONFIG with `chief` for `master`, which tf.distribute does not know."""
    config = _object(_parsed(text), "TF_CONFIG")
    cluster, task = config.get("cluster"), config.get("task")
    if isinstance(cluster, dict):
        names = {"master": "chief"}
        config["cluster"] = {names.get(role, role): hosts for role, hosts in cluster.items()}
    if isinstance(task, dict) and task.get("type") == "master":
        task["type"] = "chief"
    return json.dumps(config)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except MoxValueError:
        raise
    except (ValueError, RecursionError) as error:
        raise _error(f"is not JSON ({error}): {shown(text, plain=True)}") from None


def _without_doubles(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Makes a dict; raises if a key is there twice, of which JSON would silently keep the last."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _error(
                f"has the key {shown(key)} twice, with {shown(found[key])} and {shown(value)}:"
                " drop one"
            )
        found[key] = value
    return found


def _roles(cluster: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    roles = {}
    for role, addresses in cluster.items():
        if role not in _ROLES:
            raise _unknown("role", role)
        if not isinstance(addresses, list) or not all(isinstance(a, str) for a in addresses):
            raise _error(f"needs a list of 'host:port' for {role}, not {shown(addresses)}")
        for address in addresses:
            split(address, f"TF_CONFIG, role {role}")
        if addresses:
            roles[role] = tuple(addresses)
    if all(role in roles for role in _CHIEFS):
        raise _error("has both 'chief' and 'master', which are two names of one role: drop one")
    for role in _CHIEFS:
        if len(roles.get(role, ())) > 1:
            raise _error(f"names {len(roles[role])} processes as {role}; there can be one only")
    _check_different(roles)
    return roles


def _check_different(roles: Mapping[str, tuple[str, ...]]) -> None:
    """Raises if an address is there twice, even an evaluator's, to which no task connects."""
    tasks: dict[tuple[str, int], str] = {}
    for role, addresses in roles.items():
        for index, address in enumerate(addresses):
            host, port = split(address)
            other = tasks.setdefault((host.lower(), port), f"{role} {index}")
            if other != f"{role} {index}":
                raise _error(
                    f"has the address {shown(address, plain=True)} twice, for {other} and for"
                    f" {role} {index}; each process needs its own"
                )


def _task(
    task: Mapping[str, Any], roles: Mapping[str, tuple[str, ...]], chief: str | None
) -> tuple[str, int]:
    role, index = task.get("type"), task.get("index", 0 if task.get("type") in _CHIEFS else None)
    if role not in _ROLES:
        raise _unknown("task type", role)
    if role in _CHIEFS and chief:
        role = chief  # A program may have renamed the role in only one of the two places.
    given, index = index, _number(index)
    if index is None:
        raise _error(f"needs a number as the task's index, not {shown(given)}")
    if role == EVALUATOR and role not in roles and index >= 0:
        return EVALUATOR, index
    count = len(roles.get(role, ()))
    if not count:
        raise _error(f"says that this process is {role} {index}, but its cluster has no {role}")
    if not 0 <= index < count:
        last = f"0 to {count - 1}" if count > 1 else "0"
        raise _error(f"says that this process is {role} {index}, but there is only {role} {last}")
    if role in _CHIEFS:
        return WORKER, 0
    return role, index + 1 if role == WORKER and chief else index


def _misspelled(config: Mapping[str, Any]) -> bool:
    """Whether a key was probably meant to be `cluster`."""
    return any(near_matches(key, ("cluster",)) for key in config)


def _number(value: Any) -> int | None:
    """Returns a task's index; like TensorFlow, also accepts digits in a string."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value) if len(value) <= _DIGITS else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MoxValueError(f"{what} must be an object, not {shown(value)}. {_FORM}.")
    return value


def _unknown(what: str, name: Any) -> MoxValueError:
    near = near_matches(name, _ROLES) if isinstance(name, str) else ""
    return MoxValueError(
        f"TF_CONFIG has the unknown {what} {shown(name)}; known are {', '.join(_ROLES)}.{near}"
        f" {_FORM}."
    )


def _error(what: str) -> MoxValueError:
    return MoxValueError(f"TF_CONFIG {what}".rstrip(".") + f". {_FORM}.")
