"""The pods of the emitted manifests as processes of the two machines, as Kubernetes starts them.

A pod gets its command, its variables and nothing else of this environment; its name leads to its
machine, as in the cluster's name service. The operator of TFJobs writes TF_CONFIG itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from machines import Host, until

from moxing.cli import launch

# Takes some seconds, so that a pod can be killed on the way.
TRAIN = """
import sys, time
import tensorflow as tf
import moxing.tensorflow as mox

def slow(x):
    time.sleep(0.02)
    return x

def input_fn(mode):
    x = tf.random_uniform([4], seed=1)
    return [tf.ensure_shape(tf.py_func(slow, [x], tf.float32), [4])]

def model_fn(inputs, mode):
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(w * inputs[0] - 3.0 * inputs[0]))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})

mox.run(
    input_fn=input_fn,
    model_fn=model_fn,
    optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.1),
    run_mode=mox.ModeKeys.TRAIN,
    batch_size=8,
    max_number_of_steps=300,
    save_model_steps=50,
    log_every_n_steps=50,
    log_dir=sys.argv[1],
)
"""
SPACE = "team"


def manifest(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict]:
    (folder / "train.py").write_text(TRAIN)
    flags = ["--image=none", f"--namespace={SPACE}", "--workers=2", "--env=TF_CPP_MIN_LOG_LEVEL=2"]
    assert launch.main([f"--emit={kind}", *flags, "train.py", str(folder / "log")]) == 0
    return [part for part in yaml.safe_load_all(capsys.readouterr().out) if part]


def found(parts: list[dict], kind: str) -> dict:
    [part] = [part for part in parts if part["kind"] == kind]
    return part


class Pod:
    """A pod: its name in the cluster, and what its container runs."""

    def __init__(self, name: str, template: dict, index: int, secrets: Mapping[str, str]) -> None:
        self.name = name
        [container] = template["spec"]["containers"]
        self.command = [*container["command"], *container.get("args", [])]
        self.environ: dict[str, str] = {}
        for variable in container["env"]:
            self.environ[variable["name"]] = self._value(variable, index, secrets)

    def _value(self, variable: dict[str, Any], index: int, secrets: Mapping[str, str]) -> str:
        if "value" in variable:
            # $(NAME) is a variable that stands before.
            return re.sub(r"\$\((\w+)\)", lambda m: self.environ[m[1]], variable["value"])
        source = variable["valueFrom"]
        if "secretKeyRef" in source:
            return secrets[source["secretKeyRef"]["key"]]
        assert source["fieldRef"]["fieldPath"] == (
            "metadata.annotations['batch.kubernetes.io/job-completion-index']"
        )
        return str(index)


def pods(kind: str, parts: list[dict]) -> list[Pod]:
    """The pods that the controllers of Kubernetes make of a manifest, with their names."""
    secrets = found(parts, "Secret")["stringData"]
    if kind == "tfjob":
        job = found(parts, "TFJob")
        worker = job["spec"]["tfReplicaSpecs"]["Worker"]
        names = [f"{job['metadata']['name']}-worker-{i}" for i in range(worker["replicas"])]
        made = [Pod(name, worker["template"], i, secrets) for i, name in enumerate(names)]
        cluster = {"worker": [f"{name}.{SPACE}.svc:2222" for name in names]}
        for index, pod in enumerate(made):
            task = {"type": "worker", "index": index}
            config = {"cluster": cluster, "task": task, "environment": "cloud"}
            pod.environ["TF_CONFIG"] = json.dumps(config)
            pod.name += f".{SPACE}.svc"
        return made
    if kind == "jobset":
        job = found(parts, "JobSet")
        [group] = job["spec"]["replicatedJobs"]
        prefix = f"{job['metadata']['name']}-{group['name']}-0"
        spec, domain = group["template"]["spec"], job["spec"]["network"]["subdomain"]
    else:
        job = found(parts, "Job")
        prefix, spec = job["metadata"]["name"], job["spec"]
        domain = spec["template"]["spec"]["subdomain"]
        assert domain == found(parts, "Service")["metadata"]["name"]
    names = [f"{prefix}-{i}.{domain}" for i in range(spec["completions"])]
    return [Pod(name, spec["template"], i, secrets) for i, name in enumerate(names)]


@pytest.fixture
def names(hosts: tuple[Host, Host], tmp_path: Path) -> Iterator[Path]:
    """The name service of the cluster: a file that both machines read, and a test writes."""
    path = tmp_path / "hosts"
    path.write_text("")
    for host in hosts:
        host.run("mount", "--bind", str(path), "/etc/hosts")
    yield path
    for host in hosts:
        host.run("umount", "/etc/hosts")


class Running:
    """The processes of both pods, and what they print."""

    def __init__(self, made: list[Pod], hosts: tuple[Host, Host], folder: Path, start: int) -> None:
        self.logs = [folder / f"pod-{start}-{i}" for i in range(2)]
        self.processes = []
        # As an image has it.
        own = {"PATH": f"{Path(sys.executable).parent}:{os.defpath}", "HOME": str(folder)}
        for pod, host, log in zip(made, hosts, self.logs, strict=True):
            with log.open("w") as file:
                # Not `env` within: the secret would stand in its command line.
                command = host.inside("env", "-C", str(folder), *pod.command)
                self.processes.append(
                    subprocess.Popen(command, env={**own, **pod.environ}, stdout=file, stderr=file)
                )

    @property
    def said(self) -> list[str]:
        return [log.read_text() for log in self.logs]

    def codes(self, seconds: float) -> list[int]:
        return [process.wait(seconds) for process in self.processes]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["k8s", "jobset"])
def test_pods_train_survive_a_kill_and_end(
    kind: str,
    hosts: tuple[Host, Host],
    names: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = pods(kind, manifest(kind, tmp_path, capsys))
    entries = [f"{host.address} {pod.name}" for host, pod in zip(hosts, made, strict=True)]
    names.write_text("\n".join(["127.0.0.1 localhost", *entries]) + "\n")
    running = Running(made, hosts, tmp_path, 0)
    try:

        def saved() -> bool:
            assert [process.poll() for process in running.processes] == [None, None], running.said
            return (tmp_path / "log/model.ckpt-50.index").exists()

        until(saved, "the checkpoint of step 50", 300)
        running.processes[1].kill()
        assert running.codes(100) == [143, -9]
        assert "worker 1" in running.said[0]
        # 137 and 143 are codes after which all of these controllers start a pod again.
        running = Running(made, hosts, tmp_path, 1)
        assert running.codes(300) == [0, 0]
    finally:
        for process in running.processes:
            process.kill()
        print("\n".join(running.said))
    assert "model.ckpt-300" in (tmp_path / "log/checkpoint").read_text()
    went_on = re.search(r"from global step (\d+) to 300", running.said[0])
    assert went_on, running.said[0]
    assert int(went_on[1]) >= 50
