"""The manifests of `mox launch`, read as Kubernetes and the controllers of the jobs read them."""

from __future__ import annotations

import json
import re
from typing import Any

import kubernetes_validate
import pytest
import yaml

from moxing.cli import launch
from moxing.cluster.platforms import tf_config

ARGUMENTS = ("--data_url=/data/it's here", "--note=$HOME: #1")
RUN = ["python", "-m", "moxing", "run", "dir/My Train.py", *ARGUMENTS]
KINDS = ["k8s", "jobset", "tfjob"]
EVERYTHING = (
    *("--workers=3", "--ps=2", "--num_gpus=4", "--name=job", "--namespace=team", "--grace=60"),
    *("--cpu=2500m", "--memory=1.5Gi", "--gpu=2", "--shm=8Gi", "--service-account=me"),
    *("--env=A=b", "--secret=s", "--volume=c:/d", "--node-selector=a=b", "--pull-secret=p"),
    *("--toleration=x:NoSchedule", "--toleration=y=z"),
)


def emitted(capsys: pytest.CaptureFixture[str], kind: str, *flags: str) -> list[dict[str, Any]]:
    assert launch.main([f"--emit={kind}", "--image=i", *flags, "dir/My Train.py", *ARGUMENTS]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def pod_specs(job: dict[str, Any]) -> list[dict[str, Any]]:
    spec = job["spec"]
    if job["kind"] == "TFJob":
        return [one["template"]["spec"] for one in spec["tfReplicaSpecs"].values()]
    if job["kind"] == "JobSet":
        return [one["template"]["spec"]["template"]["spec"] for one in spec["replicatedJobs"]]
    return [spec["template"]["spec"]]


@pytest.mark.parametrize("version", ["1.31", "1.34", "1.37"])
@pytest.mark.parametrize("flags", [(), ("--workers=2",), EVERYTHING])
@pytest.mark.parametrize("kind", KINDS)
def test_the_published_schemas_take_them(
    capsys: pytest.CaptureFixture[str], kind: str, flags: tuple[str, ...], version: str
) -> None:
    for document in emitted(capsys, kind, *flags):
        if document["kind"] in ("JobSet", "TFJob"):  # Not Kubernetes' own: their parts are.
            for job in document["spec"].get("replicatedJobs", ()):
                whole = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
                kubernetes_validate.validate(
                    {**whole, "spec": job["template"]["spec"]}, version, strict=True
                )
            for spec in pod_specs(document):
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
                kubernetes_validate.validate(pod, version, strict=True)
        else:
            kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("kind", KINDS)
def test_every_pod_runs_the_program(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    documents = emitted(capsys, kind, "--workers=3", "--ps=2", "--num_gpus=4")
    jobs = [one for one in documents if one["kind"] in ("Job", "JobSet", "TFJob")]
    specs = [spec for job in jobs for spec in pod_specs(job)]

    assert len(specs) == 2
    for spec in specs:
        (container,) = spec["containers"]
        assert (container["name"], container["image"]) == ("tensorflow", "i")
        assert container["command"] == [*RUN, "--num_gpus=4"]
        assert spec["terminationGracePeriodSeconds"] == 300
    limits = [spec["containers"][0].get("resources") for spec in specs]
    assert limits == [{"limits": {"nvidia.com/gpu": 4}}, None]


def _environment(container: dict[str, Any], index: int) -> dict[str, str]:
    """The variables that a pod of this index gets, as Kubernetes makes them, in order."""
    found: dict[str, str] = {}
    for one in container["env"]:
        source = one.get("valueFrom", {})
        if "fieldRef" in source:
            assert source["fieldRef"]["fieldPath"] == (
                "metadata.annotations['batch.kubernetes.io/job-completion-index']"
            )
            found[one["name"]] = str(index)
        elif "value" in one:
            found[one["name"]] = re.sub(r"\$\((\w+)\)", lambda name: found[name[1]], one["value"])
    return found


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        # HOSTNAME.SUBDOMAIN, where the host's name is the Job's and the index.
        ("k8s", "my-train-{}-{}.my-train:2222"),
        # The JobSet's name, the replicated job's, the number of its Job, and the index.
        ("jobset", "my-train-{}-0-{}.my-train:2222"),
    ],
)
def test_each_pod_finds_its_place(
    capsys: pytest.CaptureFixture[str], kind: str, address: str
) -> None:
    documents = emitted(capsys, kind, "--workers=2", "--ps=1")
    jobs = [one for one in documents if one["kind"] in ("Job", "JobSet")]
    specs = [spec for job in jobs for spec in pod_specs(job)]

    for spec, task, count in zip(specs, ("worker", "ps"), (2, 1), strict=True):
        for index in range(count):
            environment = _environment(spec["containers"][0], index)
            cluster = tf_config.read(environment)
            assert cluster is not None
            assert (cluster.job, cluster.index) == (task, index)
            assert cluster.workers == tuple(address.format("worker", i) for i in range(2))
            assert cluster.ps == (address.format("ps", 0),)
            assert cluster.address == address.format(task, index)


def test_the_service_names_the_pods_of_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    policy, _, service, job = emitted(capsys, "k8s", "--workers=2")

    labels = job["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"]
    assert service["spec"]["clusterIP"] == "None"
    # Pods must find each other before they are ready.
    assert service["spec"]["publishNotReadyAddresses"] is True


@pytest.mark.parametrize("kind", KINDS)
def test_only_pods_of_the_job_reach_its_ports(
    capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    policy = emitted(capsys, kind)[0]

    label = "training.kubeflow.org/job-name" if kind == "tfjob" else "openmox/job"
    own = {"matchLabels": {label: "my-train"}}
    assert policy["kind"] == "NetworkPolicy"
    assert policy["spec"] == {
        "podSelector": own,
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": own}]}],
    }


def test_one_pod_is_no_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    policy, job = emitted(capsys, "k8s")

    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in container["env"]] == ["PYTHONUNBUFFERED"]
    assert "subdomain" not in job["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("code", "ends"), [(1, True), (2, True), (94, True), (137, False), (139, False), (143, False)]
)
@pytest.mark.parametrize("kind", ["k8s", "jobset"])
def test_an_error_of_the_program_ends_the_job_and_a_death_does_not(
    capsys: pytest.CaptureFixture[str], kind: str, code: int, ends: bool
) -> None:
    job = emitted(capsys, kind, "--workers=2", "--max_restarts=5")[-1]
    inner = job["spec"]["replicatedJobs"][0]["template"] if kind == "jobset" else job

    moved, failed = inner["spec"]["podFailurePolicy"]["rules"]
    assert moved["action"] == "Ignore"
    assert moved["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert (failed["action"], failed["onExitCodes"]["operator"]) == ("FailJob", "NotIn")
    assert (code not in failed["onExitCodes"]["values"]) == ends
    if kind == "jobset":
        # A death ends its Job, and the set starts all of its Jobs again.
        assert inner["spec"]["backoffLimit"] == 0
        policy = job["spec"]["failurePolicy"]
        assert policy["maxRestarts"] == 5
        assert policy["rules"][0]["action"] == "FailJobSet"
        assert policy["rules"][0]["onJobFailureReasons"] == ["PodFailurePolicy"]
    else:
        assert inner["spec"]["backoffLimit"] == 10  # A death of one takes both down.


def test_a_tf_job(capsys: pytest.CaptureFixture[str]) -> None:
    job = emitted(capsys, "tfjob", "--workers=3", "--ps=2")[-1]

    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "TFJob")
    assert job["spec"]["runPolicy"] == {"cleanPodPolicy": "Running", "backoffLimit": 3}
    replicas = job["spec"]["tfReplicaSpecs"]
    assert {kind: one["replicas"] for kind, one in replicas.items()} == {"Worker": 3, "PS": 2}
    for one in replicas.values():
        assert one["restartPolicy"] == "ExitCode"
        (container,) = one["template"]["spec"]["containers"]
        assert container["ports"] == [{"name": "tfjob-port", "containerPort": 2222}]
        assert "TF_CONFIG" not in [variable["name"] for variable in container["env"]]


@pytest.mark.parametrize(
    ("script", "name"),
    [("dir/My Train.py", "my-train"), ("3d.py", "mox-3d"), ("_.py", "mox"), ("a" * 90, "a" * 44)],
)
def test_names_of_jobs(capsys: pytest.CaptureFixture[str], script: str, name: str) -> None:
    assert launch.main(["--emit=k8s", "--image=i", "--workers=999", script]) == 0

    job = list(yaml.safe_load_all(capsys.readouterr().out))[-1]
    assert job["metadata"]["name"] == f"{name}-worker"
    # A pod's name is the Job's, its index, and five characters.
    assert len(f"{job['metadata']['name']}-998-abcde") <= 63


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_and_a_namespace_for_everything(
    capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    for document in emitted(capsys, kind, "--workers=2", "--name=mine", "--namespace=team"):
        assert document["metadata"]["namespace"] == "team"
        assert document["metadata"]["name"].startswith("mine")


def test_tf_config_is_json_but_for_the_index(capsys: pytest.CaptureFixture[str]) -> None:
    job = emitted(capsys, "k8s", "--workers=2")[-1]

    (text,) = (
        one["value"]
        for one in job["spec"]["template"]["spec"]["containers"][0]["env"]
        if one["name"] == "TF_CONFIG"
    )
    assert json.loads(text.replace("$(MOX_TASK_INDEX)", "7"))["task"]["index"] == 7
