"""Indexed Jobs of Kubernetes, one for each kind of task, with a headless Service for names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from moxing.cluster.cluster import PS, WORKER
from moxing.launch.kubernetes import template
from moxing.launch.kubernetes.pods import Pods
from moxing.launch.plan import Plan

_INDEX: Final = "MOX_TASK_INDEX"
_ANNOTATION: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
_MOVED: Final = {"type": "DisruptionTarget", "status": "True"}
# Exit codes of processes that a signal ended, or that saved and left after another was lost.
_KILLED: Final = [128 + number for number in range(1, 32)]


def jobs(
    plan: Plan, name: str, secret_name: str, max_restarts: int, pods: Pods
) -> list[dict[str, Any]]:
    """Returns the Jobs of workers and of parameter servers and, for several pods, a Service."""

    def address(kind: str, index: int) -> str:
        return f"{name}-{kind}-{index}.{name}:{template.PORT}"

    found: list[dict[str, Any]] = []
    if len(plan.tasks) > 1:
        found.append(_service(name))
    for kind, count in counts(plan).items():
        # When one pod dies, all the others end too, and are restarted with it.
        spec = job_spec(plan, name, secret_name, kind, pods, address, max_restarts * count)
        metadata = {"name": f"{name}-{kind}", "labels": {template.JOB_LABEL: name}}
        found.append({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    return found


def counts(plan: Plan) -> dict[str, int]:
    """Returns the number of tasks of each kind that the job has."""
    return {WORKER: plan.workers, **({PS: plan.ps} if plan.ps else {})}


def job_spec(
    plan: Plan,
    name: str,
    secret_name: str,
    kind: str,
    pods: Pods,
    address: Callable[[str, int], str],
    backoff_limit: int,
) -> dict[str, Any]:
    """Returns the spec of the Job of one kind of tasks.

    A pod that Kubernetes evicts is replaced and not counted. An error of the program ends the Job;
    only exit codes of killed processes count as deaths, of which `backoff_limit` are allowed.

    Args:
        plan: the job.
        name: the name of the Job and of its Service.
        secret_name: the Secret that holds the job's secret.
        kind: the kind of the tasks.
        pods: the settings of each pod.
        address: returns a task's address, given its kind and index.
        backoff_limit: how many pods may die.
    """
    variables = _place(plan, kind, address) if len(plan.tasks) > 1 else []
    spec = template.pod(
        plan,
        pods,
        secret_name=secret_name,
        gpus=pods.gpus if kind == WORKER else None,
        variables=variables,
    )
    if variables:
        spec["subdomain"] = name
    spec["restartPolicy"] = "Never"  # So that exit codes decide.
    count = counts(plan)[kind]
    return {
        "completions": count,
        "parallelism": count,
        "completionMode": "Indexed",
        "backoffLimit": backoff_limit,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [_MOVED]},
                {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": _KILLED}},
            ]
        },
        "template": {"metadata": {"labels": {template.JOB_LABEL: name}}, "spec": spec},
    }


def _place(plan: Plan, kind: str, address: Callable[[str, int], str]) -> list[dict[str, Any]]:
    """Returns TF_CONFIG, in which Kubernetes fills in the pod's index."""
    cluster = {
        each: [address(each, index) for index in range(count)]
        for each, count in counts(plan).items()
    }
    head = json.dumps(cluster)
    text = f'{{"cluster": {head}, "task": {{"type": "{kind}", "index": $({_INDEX})}}}}'
    return [
        {"name": _INDEX, "valueFrom": {"fieldRef": {"fieldPath": _ANNOTATION}}},
        {"name": "TF_CONFIG", "value": text},
    ]


def _service(name: str) -> dict[str, Any]:
    """Returns a Service that gives each pod a name in the cluster's DNS from its start on."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {template.JOB_LABEL: name},
            "ports": [{"name": "tensorflow", "port": template.PORT}],
        },
    }
