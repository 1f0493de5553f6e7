"""Each start of a job has a new secret, which stands in no command, output or file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from moxing.cli import launch
from moxing.launch.hosts import spread
from moxing.launch.plan import Plan
from moxing.launch.start import Start
from moxing.launch.supervise import supervise
from moxing.launch.uai import training

FORM = re.compile(r"[0-9a-f]{64}")
OWN = {"MOX_JOB_SECRET": "a secret of the user's own", "MOX_JOB_SECRET_FILE": "/x"}
# Tells the others' digest of the secret only, and what of it can be seen of the processes.
TASK = """
import hashlib, os, subprocess, sys
secret = os.environ["MOX_JOB_SECRET"]
seen = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True).stdout
print(hashlib.sha256(secret.encode()).hexdigest(), secret in seen, len(secret),
      "MOX_JOB_SECRET_FILE" in os.environ)
"""


def secrets_of(starts: dict[str, Start]) -> set[str]:
    found = {start.environ["MOX_JOB_SECRET"] for start in starts.values()}
    for start in starts.values():
        assert not any(secret in word for word in start.command for secret in found)
        assert not any(secret in repr(start) for secret in found)
        assert "MOX_JOB_SECRET_FILE" not in start.environ
    return found


def test_all_tasks_of_a_start_have_the_same_and_the_next_start_another(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    code, data = str(tmp_path), str(tmp_path)
    for job in (
        Plan("train.py", workers=3, ps=1),
        training("train.py", code, data, str(tmp_path / "out"), nodes=2, ps=1),
    ):
        first, second = (secrets_of(dict(job.starts(OWN))) for _ in range(2))
        assert len(first) == len(second) == 1
        assert not first & second
        assert all(FORM.fullmatch(secret) for secret in first | second)


def test_the_secret_goes_to_other_machines_in_the_input_of_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(
        "#!/bin/bash\nwhile [[ $1 == -* ]]; do [[ $1 == -- ]] && { shift; break; }; shift 2; done\n"
        'shift\nenv > "$0.environ.$$"\nexec env -u MOX_JOB_SECRET bash -c "$*"\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("MOX_JOB_SECRET_FILE", "/of/another/job")
    (tmp_path / "task.py").write_text(TASK)
    plan = Plan(str(tmp_path / "task.py"), (), 2, runner=(sys.executable,))

    starts = spread(plan, "a,b", 2222).starts({})
    (secret,) = {start.secret for start in starts.values()}
    assert FORM.fullmatch(secret)
    assert not any(secret in f"{start.command} {start!r}" for start in starts.values())

    assert supervise(spread(plan, "a,b", 2222), tmp_path / "logs", 0, 0.01) == 0
    lines = capfd.readouterr().out.splitlines()
    told = {line.partition("] ")[2] for line in lines}
    assert len(lines) == 2
    (words,) = [one.split() for one in told]  # Both say the same.
    assert words[1:] == ["False", "64", "False"]
    for environ in tmp_path.glob("ssh.environ.*"):
        assert not FORM.search(environ.read_text())


@pytest.mark.parametrize("line", [b"", b"no end of a line", b"x" * 5000])
def test_without_a_secret_from_the_launcher_no_task_begins(tmp_path: Path, line: bytes) -> None:
    mark = tmp_path / "mark"
    done = subprocess.run(
        [sys.executable, "-m", "moxing.launch.guard", "--secret", "touch", str(mark)],
        input=line,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 143
    assert done.stderr == b"The launcher has gone before the task began.\n"
    assert not mark.exists()


def emitted(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    assert launch.main([*flags, "train.py"]) == 0
    return capsys.readouterr().out


def test_slurm_makes_one_for_each_start(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_JOB_SECRET", OWN["MOX_JOB_SECRET"])
    text = emitted(capsys, "--emit=slurm", "--workers=2")
    assert OWN["MOX_JOB_SECRET"] not in text
    assert not FORM.search(text)
    (tmp_path / "srun").write_text(
        f'#!/bin/bash\necho "$MOX_JOB_SECRET" >> {tmp_path}/seen\necho "$@" >> {tmp_path}/words\n'
        f'echo "${{MOX_JOB_SECRET_FILE-unset}}" >> {tmp_path}/files\nexit 137\n'
    )
    (tmp_path / "sleep").write_text("#!/bin/bash\n")
    for name in ("srun", "sleep"):
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["bash"],
        input=text,
        env={**os.environ, **OWN, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    seen = (tmp_path / "seen").read_text().split()
    assert len(seen) == len(set(seen)) == 4  # A start, and three starts after deaths.
    assert all(FORM.fullmatch(secret) for secret in seen)
    assert set((tmp_path / "files").read_text().split()) == {"unset"}
    told = done.stdout + done.stderr + (tmp_path / "words").read_text()
    assert not any(secret in told for secret in seen)


def test_kubernetes_has_a_secret_of_which_the_job_tells_the_name_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = [emitted(capsys, "--emit=k8s", "--image=i", "--workers=2") for _ in range(2)]
    found = []
    for text in texts:
        policy, secret, service, job = yaml.safe_load_all(text)
        assert (secret["apiVersion"], secret["kind"], secret["type"]) == ("v1", "Secret", "Opaque")
        found.append(secret["stringData"]["MOX_JOB_SECRET"])
        assert FORM.fullmatch(found[-1])
        assert text.count(found[-1]) == 1
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert container["env"][1] == {
            "name": "MOX_JOB_SECRET",
            "valueFrom": {
                "secretKeyRef": {"name": secret["metadata"]["name"], "key": "MOX_JOB_SECRET"}
            },
        }
    assert found[0] != found[1]
    # A pod alone meets nobody.
    assert "Secret" not in emitted(capsys, "--emit=k8s", "--image=i")
