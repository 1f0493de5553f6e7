"""Job descriptions for Slurm and Kubernetes, read as those read them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from moxing.cli import launch

ARGUMENTS = ("--data_url=/data/it's here", "--note=$HOME: #1")
RUN = ["python", "-m", "moxing", "run", "dir/My Train.py", *ARGUMENTS]


def emitted(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    assert launch.main([*flags, "dir/My Train.py", *ARGUMENTS]) == 0
    return capsys.readouterr().out


def test_kubernetes(capsys: pytest.CaptureFixture[str]) -> None:
    text = emitted(capsys, "--emit=k8s", "--image=r/i:1", "--workers=3", "--ps=2", "--num_gpus=4")
    policy, job = yaml.safe_load_all(text)

    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "TFJob")
    assert job["spec"]["runPolicy"] == {"cleanPodPolicy": "Running", "backoffLimit": 3}
    replicas = job["spec"]["tfReplicaSpecs"]
    assert {kind: spec["replicas"] for kind, spec in replicas.items()} == {"Worker": 3, "PS": 2}
    for spec in replicas.values():
        assert spec["restartPolicy"] == "ExitCode"
        (container,) = spec["template"]["spec"]["containers"]
        assert (container["name"], container["image"]) == ("tensorflow", "r/i:1")
        assert container["command"] == [*RUN, "--num_gpus=4"]
        assert container["ports"] == [{"name": "tfjob-port", "containerPort": 2222}]
    limits = [
        spec["template"]["spec"]["containers"][0].get("resources") for spec in replicas.values()
    ]
    assert limits == [{"limits": {"nvidia.com/gpu": 4}}, None]


def test_only_pods_of_the_job_reach_its_ports(capsys: pytest.CaptureFixture[str]) -> None:
    policy, job = yaml.safe_load_all(emitted(capsys, "--emit=k8s", "--image=i"))

    own = {"matchLabels": {"training.kubeflow.org/job-name": job["metadata"]["name"]}}
    assert policy["kind"] == "NetworkPolicy"
    assert policy["spec"] == {
        "podSelector": own,
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": own}]}],
    }
    assert job["metadata"]["name"] == "my-train"


SRUN = """#!/bin/bash
printf '%s\\n' "$@" > "$FOLDER/arguments"
echo x >> "$FOLDER/starts"
exit $(sed -n "$(wc -l < "$FOLDER/starts")p" "$FOLDER/codes")
"""


@pytest.mark.parametrize(
    ("codes", "code", "starts"),
    [([0], 0, 1), ([2], 2, 1), ([143], 143, 1), ([137, 0], 0, 2), ([137, 139], 139, 2)],
)
def test_slurm(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, codes: list[int], code: int, starts: int
) -> None:
    """The script runs with an srun that notes what it got and ends with the codes."""
    script = tmp_path / "job.sh"
    script.write_text(emitted(capsys, "--emit=slurm", "--workers=4", "--max_restarts=1"))
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=60)
    (tmp_path / "codes").write_text("".join(f"{one}\n" for one in codes))
    (tmp_path / "srun").write_text(SRUN)
    (tmp_path / "srun").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "FOLDER": str(tmp_path),
    }

    done = subprocess.run(["bash", str(script)], env=environment, timeout=120, check=False)

    assert done.returncode == code
    assert (tmp_path / "starts").read_text() == "x\n" * starts
    assert (tmp_path / "arguments").read_text().splitlines()[-len(RUN) :] == RUN


def test_what_slurm_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    lines = emitted(capsys, "--emit=slurm", "--workers=4", "--num_gpus=8").splitlines()

    asked = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")]
    assert asked == [
        "--job-name=My-Train",
        "--nodes=4",
        "--ntasks-per-node=1",
        "--gpus-per-node=8",
        "--output=%x-%j.log",
        "--open-mode=append",
        "--signal=TERM@120",
    ]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--emit=slurm", "--ps=1"],
            "--emit=slurm with --ps=1: all tasks of a Slurm job are workers. Leave --ps out;"
            " synchronous training needs no parameter server.",
        ),
        (
            ["--emit=k8s"],
            "--emit=k8s needs --image=IMAGE, which holds the program and openmox.",
        ),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], flags: list[str], message: str) -> None:
    assert launch.main([*flags, "train.py"]) == 2
    assert capsys.readouterr().err == f"mox: error: {message}\n"
