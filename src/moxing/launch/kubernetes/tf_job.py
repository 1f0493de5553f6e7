"""A TFJob of Kubeflow's training operator, of its versions up to 1.9."""

from __future__ import annotations

from typing import Any, Final

from moxing.launch.kubernetes import template
from moxing.launch.kubernetes.pods import Pods
from moxing.launch.plan import Plan

LABEL: Final = "training.kubeflow.org/job-name"  # The training operator puts it on every pod.


def jobs(
    plan: Plan, name: str, secret_name: str, max_restarts: int, pods: Pods
) -> list[dict[str, Any]]:
    """Returns the TFJob; the operator describes it to its pods in TF_CONFIG."""
    replicas = {"Worker": _replica(plan, secret_name, plan.workers, pods, pods.gpus)}
    if plan.ps:
        replicas["PS"] = _replica(plan, secret_name, plan.ps, pods, None)
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": max_restarts},
            "tfReplicaSpecs": replicas,
        },
    }
    return [job]


def _replica(
    plan: Plan, secret_name: str, count: int, pods: Pods, gpus: int | None
) -> dict[str, Any]:
    # The operator looks for a container and a port of these names.
    spec = template.pod(plan, pods, secret_name=secret_name, gpus=gpus, port_name="tfjob-port")
    return {"replicas": count, "restartPolicy": "ExitCode", "template": {"spec": spec}}
