"""The pods of the emitted manifests as processes of the two machines, as Kubernetes starts them.

A pod gets its command, its variables and nothing else of this environment; its name leads to its
machine, as in the cluster's name service. The operator of TFJobs writes TF_CONFIG itself. Pods that
die come back as each of the controllers brings them back. The job's NetworkPolicy stands as rules
of nftables.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from machines import Host, answers, until

from moxing.cli import launch

# Takes some seconds, so that a pod can be killed on the way.
TRAIN = """
import sys, time
import tensorflow as tf
import moxing.tensorflow as mox

def slow(x):
    time.sleep(0.005)
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
WORKERS, SERVER = ("--workers=2",), ("--workers=1", "--ps=1")
AGAIN = {"k8s": 10.0, "tfjob": 0.5}  # Seconds until a controller makes a dead pod anew.


def manifest(
    kind: str, tasks: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> list[dict]:
    (folder / "train.py").write_text(TRAIN)
    flags = ["--image=none", f"--namespace={SPACE}", *tasks, "--env=TF_CPP_MIN_LOG_LEVEL=2"]
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
        return of_operator(found(parts, "TFJob"), secrets)
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


def of_operator(job: dict, secrets: Mapping[str, str]) -> list[Pod]:
    """The pods of a TFJob; the operator makes a Service of each pod's name."""
    made: list[Pod] = []
    cluster: dict[str, list[str]] = {}
    tasks: list[dict[str, Any]] = []
    for kind, replica in job["spec"]["tfReplicaSpecs"].items():
        [container] = replica["template"]["spec"]["containers"]
        [port] = [p for p in container["ports"] if p["name"] == "tfjob-port"]
        assert container["name"] == "tensorflow"
        for index in range(replica["replicas"]):
            name = f"{job['metadata']['name']}-{kind.lower()}-{index}.{SPACE}.svc"
            made.append(Pod(name, replica["template"], index, secrets))
            cluster.setdefault(kind.lower(), []).append(f"{name}:{port['containerPort']}")
            tasks.append({"type": kind.lower(), "index": index})
    for pod, task in zip(made, tasks, strict=True):
        config = {"cluster": cluster, "task": task, "environment": "cloud"}
        pod.environ["TF_CONFIG"] = json.dumps(config)
    return made


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


def enforce(policy: dict, hosts: tuple[Host, Host]) -> None:
    """Lets only the pods of the job open connections to its pods, as a network plugin does.

    Slurm's own port stays open, so that the machines are not given up.
    """
    [rule] = policy["spec"]["ingress"]
    assert rule == {"from": [{"podSelector": policy["spec"]["podSelector"]}]}
    own = ", ".join(host.address for host in hosts)
    for host in hosts:
        host.run("nft", "add table inet pods")
        host.run("nft", "add chain inet pods i { type filter hook input priority 0; }")
        opens = "tcp flags & (syn|ack) == syn"
        host.run("nft", f"add rule inet pods i ip saddr {{ {own} }} accept")
        host.run("nft", f"add rule inet pods i iif != lo tcp dport != 6818 {opens} drop")


class Controller:
    """Runs the pods of a job on the machines, a pod each, as its controller does, to the end.

    A pod of a Job and of a TFJob comes back alone; a JobSet stops the other pods, and starts all. A
    TFJob has ended when worker 0 has, and the operator deletes the pods that still run.
    """

    def __init__(
        self, kind: str, made: list[Pod], hosts: tuple[Host, Host], folder: Path, first: int
    ) -> None:
        self._kind, self._made, self._hosts, self._folder = kind, made, hosts, folder
        self._first = first  # The pod of worker 0.
        self.starts = [0, 0]
        self.codes: list[list[int]] = [[], []]
        self._due: dict[int, float] = dict.fromkeys(range(2), 0.0)
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self.step()

    def said(self, index: int) -> str:
        """All that the pods of this index have printed."""
        logs = sorted(self._folder.glob(f"pod-{index}-*"))
        return "".join(log.read_text() for log in logs)

    def step(self) -> None:
        """Sees which pods have ended, and starts those that are due."""
        for index, process in list(self._running.items()):
            if (code := process.poll()) is not None:
                del self._running[index]
                self.codes[index].append(code)
                self._ended(index, code)
        for index, moment in list(self._due.items()):
            if time.monotonic() >= moment:
                del self._due[index]
                self._start(index)

    def _ended(self, index: int, code: int) -> None:
        if self.succeeded:
            self._due.clear()
            self._delete()
        elif code:
            # Codes of signals alone; others are errors of the program, which end the job.
            assert code < 0 or code > 128, f"pod {index} ended with {code}:\n{self.said(index)}"
            if self._kind != "jobset":
                self._due[index] = time.monotonic() + AGAIN[self._kind]
            elif self._running:
                self._delete()
            else:
                self._due = dict.fromkeys(range(2), 0.0)

    def _delete(self) -> None:
        for process in self._running.values():
            process.send_signal(signal.SIGTERM)

    @property
    def succeeded(self) -> bool:
        return self._kind == "tfjob" and self.codes[self._first][-1:] == [0]

    def _start(self, index: int) -> None:
        self.starts[index] += 1
        assert self.starts[index] < 6, self.said(index)
        pod = self._made[index]
        # As an image has it.
        own = {"PATH": f"{Path(sys.executable).parent}:{os.defpath}", "HOME": str(self._folder)}
        # The secret is not in the command line, as it would be with `env` within.
        command = self._hosts[index].inside("env", "-C", str(self._folder), *pod.command)
        with (self._folder / f"pod-{index}-{self.starts[index]}").open("w") as file:
            environ = {**own, **pod.environ}
            self._running[index] = subprocess.Popen(command, env=environ, stdout=file, stderr=file)

    def until(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        """Goes on until a condition holds."""

        def holds() -> bool:
            self.step()
            return condition()

        until(holds, what, seconds)

    def to_the_end(self, seconds: float) -> None:
        """Goes on until no pod runs, and none is to come back."""
        self.until(lambda: not self._running and not self._due, "the end of the job", seconds)

    def kill(self, index: int) -> None:
        """Ends a pod as the kernel does that has no memory left."""
        self._running[index].kill()

    def close(self) -> None:
        for process in self._running.values():
            process.kill()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("kind", "tasks"),
    [("k8s", WORKERS), ("jobset", WORKERS), ("tfjob", WORKERS), ("tfjob", SERVER)],
    ids=["k8s", "jobset", "tfjob", "tfjob-ps"],
)
def test_pods_train_survive_a_kill_and_end(
    kind: str,
    tasks: tuple[str, ...],
    hosts: tuple[Host, Host],
    names: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts = manifest(kind, tasks, tmp_path, capsys)
    made = pods(kind, parts)
    entries = [f"{host.address} {pod.name}" for host, pod in zip(hosts, made, strict=True)]
    names.write_text("\n".join(["127.0.0.1 localhost", *entries]) + "\n")
    enforce(found(parts, "NetworkPolicy"), hosts)
    chief = next(i for i, pod in enumerate(made) if "-worker-" in pod.name)
    other = 1 - chief
    job = Controller(kind, made, hosts, tmp_path, chief)
    try:
        saved = tmp_path / "log/model.ckpt-50.index"
        job.until(saved.exists, "the checkpoint of step 50", 300)
        assert job.starts == [1, 1], job.codes
        assert not any(answers(host, 2222) for host in hosts)
        job.kill(other)
        job.to_the_end(300)
    finally:
        job.close()
        print(f"starts {job.starts}, codes {job.codes}\n{job.said(0)}\n{job.said(1)}")
    assert job.codes[chief] == [143, 0]
    killed, ended = job.codes[other]
    # The operator may delete the other pod before it has ended by itself.
    assert (killed, ended) == (-9, 0) or (kind == "tfjob" and ended in (143, -signal.SIGTERM))
    lost = "ps 0" if tasks == SERVER else "worker 1"
    assert lost in job.said(chief)
    assert "model.ckpt-300" in (tmp_path / "log/checkpoint").read_text()
    went_on = re.findall(r"from global step (\d+) to 300", job.said(chief))
    assert went_on, job.said(chief)
    assert int(went_on[-1]) >= 50
