"""A JobSet: Jobs that start, restart and end together."""

from __future__ import annotations

from typing import Any

from moxing.launch.kubernetes import indexed_job, template
from moxing.launch.kubernetes.pods import Pods
from moxing.launch.plan import Plan


def jobs(
    plan: Plan, name: str, secret_name: str, max_restarts: int, pods: Pods
) -> list[dict[str, Any]]:
    """Returns the JobSet, whose controller makes the Service and the Jobs."""

    def address(kind: str, index: int) -> str:
        return f"{name}-{kind}-0-{index}.{name}:{template.PORT}"

    replicated = []
    for kind in indexed_job.counts(plan):
        # The first death ends its Job and so the JobSet, which restarts all Jobs.
        spec = indexed_job.job_spec(plan, name, secret_name, kind, pods, address, 0)
        spec["template"]["spec"].pop("subdomain", None)  # The controller sets the subdomain.
        replicated.append({"name": kind, "replicas": 1, "template": {"spec": spec}})
    own_error = {
        "name": "errors-of-the-program",
        "action": "FailJobSet",
        "onJobFailureReasons": ["PodFailurePolicy"],
    }
    job = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {
            "network": {
                "enableDNSHostnames": True,
                "subdomain": name,
                "publishNotReadyAddresses": True,
            },
            "failurePolicy": {"maxRestarts": max_restarts, "rules": [own_error]},
            "replicatedJobs": replicated,
        },
    }
    return [job]
