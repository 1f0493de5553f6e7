"""A TFJob for Kubernetes, with a network policy and a secret that keep all but its pods out."""

from __future__ import annotations

import math
import re
from pathlib import PurePath
from typing import Any

from moxing.cluster import secret
from moxing.launch.plan import Plan
from moxing.launch.pods import Pods

PORT = 2222
_LABEL = "training.kubeflow.org/job-name"  # The training operator puts it on every pod.


def manifest(plan: Plan, max_restarts: int, pods: Pods) -> str:
    """YAML documents: the NetworkPolicy first, so that it holds before a pod starts.

    A job of several pods has a Secret too, new at each call, that each of them gets.

    Args:
        plan: the job.
        max_restarts: the job's backoffLimit.
        pods: what each pod gets.
    """
    name = job_name(plan.script)
    kept = []
    if len(plan.tasks) > 1:
        kept = [
            "---",
            "# Who has this secret can join the job: keep it out of logs and repositories.",
            *_lines(_job_secret(name)),
        ]
    return "\n".join(
        [
            "# Pods restart after codes above 128 only; others are the program's own errors.",
            "# The policy needs a network plugin that enforces NetworkPolicy.",
            *_lines(_policy(name)),
            *kept,
            "---",
            *_lines(_job(plan, name, max_restarts, pods)),
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


def _job_secret(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _secret_name(name)},
        "type": "Opaque",
        "stringData": {secret.VARIABLE: secret.new()},
    }


def _secret_name(name: str) -> str:
    return f"{name}-secret"


def _job(plan: Plan, name: str, max_restarts: int, pods: Pods) -> dict[str, Any]:
    replicas = {"Worker": _replica(plan, name, plan.workers, pods, plan.num_gpus)}
    if plan.ps:
        replicas["PS"] = _replica(plan, name, plan.ps, pods, None)
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": max_restarts},
            "tfReplicaSpecs": replicas,
        },
    }


def _replica(plan: Plan, name: str, count: int, pods: Pods, gpus: int | None) -> dict[str, Any]:
    environ = {"PYTHONUNBUFFERED": "1", **dict(pods.environ)}
    container: dict[str, Any] = {
        "name": "tensorflow",  # The name and the port that the operator looks for.
        "image": pods.image,
        "command": ["python", "-m", "moxing", "run", *map(_literal, plan.program)],
        "env": [{"name": name, "value": _literal(text)} for name, text in environ.items()],
        "ports": [{"name": "tfjob-port", "containerPort": PORT}],
    }
    if len(plan.tasks) > 1:
        source = {"secretKeyRef": {"name": _secret_name(name), "key": secret.VARIABLE}}
        container["env"].append({"name": secret.VARIABLE, "valueFrom": source})
    spec: dict[str, Any] = {"terminationGracePeriodSeconds": math.ceil(pods.grace)}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    if pods.secrets:
        container["envFrom"] = [{"secretRef": {"name": name}} for name in pods.secrets]
    if pods.volumes:
        claims = list(dict.fromkeys(claim for claim, _ in pods.volumes))
        container["volumeMounts"] = [
            {"name": _volume(claims, claim), "mountPath": path} for claim, path in pods.volumes
        ]
        spec["volumes"] = [
            {"name": _volume(claims, claim), "persistentVolumeClaim": {"claimName": claim}}
            for claim in claims
        ]
    spec["containers"] = [container]
    return {"replicas": count, "restartPolicy": "ExitCode", "template": {"spec": spec}}


def _volume(claims: list[str], claim: str) -> str:
    return f"volume-{claims.index(claim)}"  # Names of claims may be too long here.


def _literal(text: str) -> str:
    """Text that Kubernetes does not expand: it reads $(NAME) as a variable, and $$ as $."""
    return re.sub(r"\$(?=[$(])", "$$", text)


def _lines(value: Any, indent: int = 0) -> list[str]:
    """YAML of nested dicts and lists."""
    space, lines = "  " * indent, []
    pairs = value.items() if isinstance(value, dict) else [(None, item) for item in value]
    for key, item in pairs:
        head = f"{space}-" if key is None else f"{space}{_key(key)}:"
        if not isinstance(item, dict | list):
            lines.append(f"{head} {_scalar(item)}")
        elif key is None:
            first, *rest = _lines(item, indent + 1)
            lines += [f"{head} {first.lstrip()}", *rest]
        else:
            lines += [head, *_lines(item, indent + 1)]
    return lines


def _scalar(value: str | int) -> str:
    """YAML's quoted form; JSON's is none where a character has more than 16 bits."""
    if not isinstance(value, str):
        return str(value)
    parts = (f"\\{c}" if c in '"\\' else c if c.isprintable() else _code(c) for c in value)
    return f'"{"".join(parts)}"'


def _code(char: str) -> str:
    return f"\\U{ord(char):08x}"


def _key(name: str) -> str:
    return name if name.isalnum() else _scalar(name)
