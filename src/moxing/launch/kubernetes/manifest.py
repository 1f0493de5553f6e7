"""The YAML documents of a job: policy, secret, and the job itself."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any, Final

from moxing.cluster import secret
from moxing.launch.kubernetes import indexed_job, job_set, template, tf_job
from moxing.launch.kubernetes.pods import LONGEST_JOB, Pods
from moxing.launch.kubernetes.yaml_text import lines
from moxing.launch.plan import Plan

KINDS: Final = {"k8s": indexed_job.jobs, "jobset": job_set.jobs, "tfjob": tf_job.jobs}


def manifest(plan: Plan, max_restarts: int, pods: Pods, kind: str) -> str:
    """Returns YAML documents: the NetworkPolicy is first, so that it holds before a pod starts.

    A job of several pods also has a Secret, new at each call, which every pod gets.

    Args:
        plan: the job.
        max_restarts: how many times the tasks are restarted after deaths.
        pods: the settings of each pod.
        kind: a key of `KINDS`.
    """
    name = pods.name or job_name(plan.script)
    secret_name = f"{name}-secret"
    documents = [_policy(name, tf_job.LABEL if kind == "tfjob" else template.JOB_LABEL)]
    if len(plan.tasks) > 1:
        documents.append(_job_secret(secret_name))
    documents += KINDS[kind](plan, name, secret_name, max_restarts, pods)
    text = [
        "# Pods restart after codes above 128 only; others are the program's own errors.",
        "# The policy needs a network plugin that enforces NetworkPolicy.",
    ]
    for number, document in enumerate(documents):
        if pods.namespace:
            document["metadata"]["namespace"] = pods.namespace
        if number:
            text.append("---")
        if document["kind"] == "Secret":
            text.append(
                "# Who has this secret can join the job: keep it out of logs and repositories."
            )
        text += lines(document)
    return "\n".join([*text, ""])


def job_name(script: str) -> str:
    """Makes a name that Kubernetes accepts from the script's name."""
    stem = re.sub(r"[^a-z0-9]+", "-", PurePath(script).stem.lower()).strip("-")
    name = stem[: LONGEST_JOB - len("mox-")].strip("-")
    return name if name[:1].isalpha() else f"mox-{name}".strip("-")


def _policy(name: str, label: str) -> dict[str, Any]:
    own = {"matchLabels": {label: name}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name},
        "spec": {
            "podSelector": own,
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": own}]}],
        },
    }


def _job_secret(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "Opaque",
        "stringData": {secret.VARIABLE: secret.new()},
    }
