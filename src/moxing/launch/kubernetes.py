"""A TFJob for Kubernetes, with a network policy that lets only the job's pods reach its ports."""

from __future__ import annotations

import json
import re
from pathlib import PurePath
from typing import Any

from moxing.launch.plan import Plan

PORT = 2222
_LABEL = "training.kubeflow.org/job-name"  # The training operator puts it on every pod.


def manifest(plan: Plan, max_restarts: int, image: str) -> str:
    """Two YAML documents: the NetworkPolicy first, so that it holds before a pod starts.

    Args:
        plan: the job.
        max_restarts: the job's backoffLimit.
        image: the container image that holds the program and openmox.
    """
    name = job_name(plan.script)
    return "\n".join(
        [
            "# Pods restart after codes above 128 only; others are the program's own errors.",
            "# The policy needs a network plugin that enforces NetworkPolicy.",
            *_lines(_policy(name)),
            "---",
            *_lines(_job(plan, name, max_restarts, image)),
            "",
        ]
    )


def job_name(script: str) -> str:
    """A name that Kubernetes takes, from the script's; pods add up to 12 characters to it."""
    name = re.sub(r"[^a-z0-9]+", "-", PurePath(script).stem.lower()).strip("-")[:48].strip("-")
    return name if name[:1].isalpha() else f"mox-{name}".strip("-")


def _policy(name: str) -> dict[str, Any]:
    pods = {"matchLabels": {_LABEL: name}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name},
        "spec": {
            "podSelector": pods,
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": pods}]}],
        },
    }


def _job(plan: Plan, name: str, max_restarts: int, image: str) -> dict[str, Any]:
    replicas = {"Worker": _replica(plan, plan.workers, image, plan.num_gpus)}
    if plan.ps:
        replicas["PS"] = _replica(plan, plan.ps, image, None)
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": max_restarts},
            "tfReplicaSpecs": replicas,
        },
    }


def _replica(plan: Plan, count: int, image: str, gpus: int | None) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": "tensorflow",  # The name and the port that the operator looks for.
        "image": image,
        "command": ["python", "-m", "moxing", "run", *plan.program],
        "env": [{"name": "PYTHONUNBUFFERED", "value": "1"}],
        "ports": [{"name": "tfjob-port", "containerPort": PORT}],
    }
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    return {
        "replicas": count,
        "restartPolicy": "ExitCode",
        "template": {"spec": {"containers": [container]}},
    }


def _lines(value: Any, indent: int = 0) -> list[str]:
    """YAML of nested dicts and lists; every scalar is JSON, which YAML contains."""
    space, lines = "  " * indent, []
    pairs = value.items() if isinstance(value, dict) else [(None, item) for item in value]
    for key, item in pairs:
        head = f"{space}-" if key is None else f"{space}{_key(key)}:"
        if not isinstance(item, dict | list):
            lines.append(f"{head} {json.dumps(item)}")
        elif key is None:
            first, *rest = _lines(item, indent + 1)
            lines += [f"{head} {first.lstrip()}", *rest]
        else:
            lines += [head, *_lines(item, indent + 1)]
    return lines


def _key(name: str) -> str:
    return name if name.isalnum() else json.dumps(name)
