"""Makes the template of a task's pods, which all kinds of jobs share."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

from moxing.cluster import secret
from moxing.launch.kubernetes.pods import Pods
from moxing.launch.plan import Plan

PORT: Final = 2222
JOB_LABEL: Final = "openmox/job"
_SHARED_MEMORY: Final = "shared-memory"


def pod(
    plan: Plan,
    pods: Pods,
    *,
    secret_name: str,
    gpus: int | None,
    variables: Sequence[dict[str, Any]] = (),
    port_name: str = "tensorflow",
) -> dict[str, Any]:
    """Returns the spec of a pod: one container, named `tensorflow`.

    Args:
        plan: the job.
        pods: the settings of each pod.
        secret_name: the Secret that holds the job's secret; used if there are several pods.
        gpus: GPUs of the container; None or 0 for none.
        variables: variables of the container, listed after those of `pods`.
        port_name: the name of the container's port.
    """
    container: dict[str, Any] = {
        "name": "tensorflow",
        "image": pods.image,
        "command": ["python", "-m", "moxing", "run", *map(literal, plan.program)],
        "env": [*_variables(plan, pods, secret_name), *variables],
        "ports": [{"name": port_name, "containerPort": PORT}],
    }
    spec: dict[str, Any] = {"terminationGracePeriodSeconds": math.ceil(pods.grace)}
    if resources := _resources(pods, gpus):
        container["resources"] = resources
    if pods.secrets:
        container["envFrom"] = [{"secretRef": {"name": name}} for name in pods.secrets]
    _mount(container, spec, pods)
    spec.update(_scheduling(pods))
    spec["containers"] = [container]
    return spec


def literal(text: str) -> str:
    """Escapes text, as Kubernetes expands $(NAME) to a variable's value, and $$ to $."""
    return re.sub(r"\$(?=[$(])", "$$", text)


def _variables(plan: Plan, pods: Pods, secret_name: str) -> list[dict[str, Any]]:
    environ = {"PYTHONUNBUFFERED": "1", **dict(pods.environ)}
    found: list[dict[str, Any]] = [
        {"name": name, "value": literal(text)} for name, text in environ.items()
    ]
    if len(plan.tasks) > 1:
        source = {"secretKeyRef": {"name": secret_name, "key": secret.VARIABLE}}
        found.append({"name": secret.VARIABLE, "valueFrom": source})
    return found


def _resources(pods: Pods, gpus: int | None) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        name: amount for name, amount in (("cpu", pods.cpu), ("memory", pods.memory)) if amount
    }
    found: dict[str, Any] = {"requests": wanted} if wanted else {}
    # Memory beyond the request would be taken from other pods; processors may be idle.
    limits: dict[str, Any] = {"memory": pods.memory} if pods.memory else {}
    if gpus:
        limits["nvidia.com/gpu"] = gpus
    return {**found, "limits": limits} if limits else found


def _mount(container: dict[str, Any], spec: dict[str, Any], pods: Pods) -> None:
    claims = list(dict.fromkeys(claim for claim, _ in pods.volumes))
    # The names of claims may be too long for volumes, so volumes are numbered.
    volumes: list[dict[str, Any]] = [
        {"name": f"volume-{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, claim in enumerate(claims)
    ]
    mounts = [
        {"name": f"volume-{claims.index(claim)}", "mountPath": path} for claim, path in pods.volumes
    ]
    if pods.shared_memory:
        room = {"medium": "Memory", "sizeLimit": pods.shared_memory}
        volumes.append({"name": _SHARED_MEMORY, "emptyDir": room})
        mounts.append({"name": _SHARED_MEMORY, "mountPath": "/dev/shm"})
    if volumes:
        container["volumeMounts"], spec["volumes"] = mounts, volumes


def _scheduling(pods: Pods) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if pods.service_account:
        found["serviceAccountName"] = pods.service_account
    if pods.pull_secrets:
        found["imagePullSecrets"] = [{"name": name} for name in pods.pull_secrets]
    if pods.node_selector:
        found["nodeSelector"] = dict(pods.node_selector)
    if pods.tolerations:
        found["tolerations"] = [dict(one) for one in pods.tolerations]
    return found
