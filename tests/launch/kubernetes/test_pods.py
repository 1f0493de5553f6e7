"""What `mox launch --emit=k8s` gives to the pods, and what it refuses to."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from moxing.cli import launch

K8S = ("--emit=k8s", "--image=i")


def emitted(
    capsys: pytest.CaptureFixture[str], *flags: str, arguments: tuple[str, ...] = ()
) -> tuple[dict[str, Any], str]:
    """The spec of a worker's pods, and what was said."""
    assert launch.main([*K8S, "--ps=1", *flags, "train.py", *arguments]) == 0
    told = capsys.readouterr()
    *_, worker, ps = yaml.safe_load_all(told.out)
    specs = [job["spec"]["template"]["spec"] for job in (worker, ps)]
    for spec in specs:
        # The place in the job is all that differs.
        del spec["subdomain"], spec["restartPolicy"], spec["containers"][0]["env"][-2:]
    assert specs[0] == specs[1]
    return specs[0], told.err


def test_variables_secrets_and_volumes(capsys: pytest.CaptureFixture[str]) -> None:
    spec, _ = emitted(
        capsys,
        *("--env=S3_ENDPOINT=https://s3.example.com:9000", "--env=NOTE=a=b: #\n'\"😀", "--env=E="),
        *("--secret=store", "--secret=more.keys"),
        *("--volume=data:/data", "--volume=shared-1://logs/", "--volume=data:/more/../again"),
        "--grace=60.5",
    )
    (container,) = spec["containers"]
    assert container["env"] == [
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "S3_ENDPOINT", "value": "https://s3.example.com:9000"},
        {"name": "NOTE", "value": "a=b: #\n'\"😀"},
        {"name": "E", "value": ""},
        {
            "name": "MOX_JOB_SECRET",
            "valueFrom": {"secretKeyRef": {"name": "train-secret", "key": "MOX_JOB_SECRET"}},
        },
    ]
    assert container["envFrom"] == [
        {"secretRef": {"name": "store"}},
        {"secretRef": {"name": "more.keys"}},
    ]
    assert spec["volumes"] == [
        {"name": "volume-0", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "volume-1", "persistentVolumeClaim": {"claimName": "shared-1"}},
    ]
    assert container["volumeMounts"] == [
        {"name": "volume-0", "mountPath": "/data"},
        {"name": "volume-1", "mountPath": "/logs"},
        {"name": "volume-0", "mountPath": "/again"},
    ]
    assert spec["terminationGracePeriodSeconds"] == 61


def test_where_pods_run_and_what_they_ask_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert launch.main(
        [
            *(*K8S, "--gpu=8", "--cpu=4", "--memory=16Gi", "--shm=8Gi", "--service-account=me"),
            *("--node-selector=pool=gpu", "--node-selector=zone/name=", "--pull-secret=r"),
            *("--toleration=nvidia.com/gpu:NoSchedule", "--toleration=a=b", "--toleration=c"),
            "train.py",
        ]
    ) == 0  # fmt: skip
    _, job = yaml.safe_load_all(capsys.readouterr().out)
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "4", "memory": "16Gi"},
        "limits": {"memory": "16Gi", "nvidia.com/gpu": 8},
    }
    assert container["volumeMounts"] == [{"name": "shared-memory", "mountPath": "/dev/shm"}]
    assert spec["volumes"] == [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    ]
    assert spec["nodeSelector"] == {"pool": "gpu", "zone/name": ""}
    assert spec["imagePullSecrets"] == [{"name": "r"}]
    assert spec["serviceAccountName"] == "me"
    assert spec["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "a", "operator": "Equal", "value": "b"},
        {"key": "c", "operator": "Exists"},
    ]


def test_nothing_is_there_that_was_not_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    spec, told = emitted(capsys)
    assert set(spec) == {"containers", "terminationGracePeriodSeconds"}
    assert set(spec["containers"][0]) == {"name", "image", "command", "env", "ports"}
    assert told == ""


def expanded(text: str) -> str:
    """As Kubernetes reads it: $$ is $, $(NAME) a variable, here always known as `?`."""
    result, rest = "", text
    while rest:
        if rest.startswith("$$"):
            result, rest = result + "$", rest[2:]
        elif rest.startswith("$(") and ")" in rest:
            result, rest = result + "?", rest.partition(")")[2]
        else:
            result, rest = result + rest[0], rest[1:]
    return result


@pytest.mark.parametrize("text", ["$(A)", "$$", "$$(A)", "a$b", "$", "$$$(A)$", "$((1))"])
def test_dollars_arrive_as_they_are(capsys: pytest.CaptureFixture[str], text: str) -> None:
    spec, _ = emitted(capsys, f"--env=X={text}", arguments=(f"--x={text}",))
    (container,) = spec["containers"]
    assert expanded(container["env"][1]["value"]) == text
    assert expanded(container["command"][-1]) == f"--x={text}"


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (("--train_url=/logs",), "--train_url=/logs"),
        (("--log_dir", "out"), "--log_dir=out"),
        (("--train_url=/database",), "--train_url=/database"),
        (("--train_url=s3://b/logs",), None),
        (("--train_url=/data/logs", "--data_url=/here"), None),
        (("--train_url=/data",), None),
    ],
)
def test_a_pod_s_own_disk_is_warned_of(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], where: str | None
) -> None:
    _, told = emitted(capsys, "--volume=claim:/data", arguments=arguments)
    assert told == (
        f"mox: warning: {where} is each pod's own disk: files saved there are lost with the pod,"
        " and no restart goes on from them. Use a store (s3://...), or --volume=CLAIM:/path.\n"
        if where
        else ""
    )


SECRET = (
    " looks like a secret, which everybody who may read the job would see. Put it into a Secret"
    " (kubectl create secret generic NAME --from-env-file=FILE) and give --secret=NAME."
)
OBJECT = (
    " is no name of a Secret; it has lower-case letters, digits, '-' and '.'. Its keys become"
    " variables."
)
NAME = " must be a name of at most {} lower-case letters, digits and '-' that begins with a letter."
ANY_OBJECT = (
    " is no name of an object of Kubernetes; such a name has lower-case letters, digits, '-' and"
    " '.'."
)
TOLERATION = " must be KEY, KEY=VALUE, or either with :NoSchedule, :PreferNoSchedule, :NoExecute."
VOLUME = " must be CLAIM:/path: the name of a PersistentVolumeClaim, and where the pods find it."


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--env=A"], "--env=A must be NAME=VALUE."),
        (["--env==x"], "--env= must be NAME=VALUE."),
        (["--env=1A=x"], "--env=1A must be NAME=VALUE."),
        (
            ["--env=TF_CONFIG={}"],
            "--env=TF_CONFIG: the job sets TF_CONFIG itself, for each pod.",
        ),
        (["--env=SECRET_ACCESS_KEY=hush"], "--env=SECRET_ACCESS_KEY=..." + SECRET),
        (["--env=AWS_SECRET_ACCESS_KEY=hush"], "--env=AWS_SECRET_ACCESS_KEY=..." + SECRET),
        (["--env=SECURITY_TOKEN=hush"], "--env=SECURITY_TOKEN=..." + SECRET),
        (["--env=db_password=hush"], "--env=db_password=..." + SECRET),
        (["--env=API_KEY=hush"], "--env=API_KEY=..." + SECRET),
        (["--env=PROXY=http://me:hush@host"], "--env=PROXY=..." + SECRET),
        (["--env=A=1", "--env=A=2"], "--env is given twice for A."),
        (["--secret=Store"], "--secret=Store" + OBJECT),
        (["--secret=key=hush"], "--secret=key=..." + OBJECT),
        (["--secret=a", "--secret=a"], "--secret is given twice for a."),
        (["--volume=data"], "--volume=data" + VOLUME),
        (["--volume=data:logs"], "--volume=data:logs" + VOLUME),
        (["--volume=:/logs"], "--volume=:/logs" + VOLUME),
        (["--volume=a:/b:ro"], "--volume=a:/b:ro" + VOLUME),
        (["--volume=a://"], "--volume=a:// would hide the whole image; mount it below /."),
        (["--volume=a:/x", "--volume=b:/x/"], "--volume is given twice for /x."),
        (["--cpu=four"], "--cpu=four is no quantity of Kubernetes. Write 4 or 500m."),
        (["--memory=16GB"], "--memory=16GB is no quantity of Kubernetes. Write 16Gi or 512Mi."),
        (["--shm=-1"], "--shm=-1 is no quantity of Kubernetes. Write 8Gi or 512Mi."),
        (["--gpu=-1"], "--gpu=-1 is negative."),
        (["--name=My_Job"], "--name=My_Job" + NAME.format(48)),
        (["--name=" + "a" * 49], "--name=" + "a" * 49 + NAME.format(48)),
        (["--namespace=1a"], "--namespace=1a" + NAME.format(63)),
        (["--service-account=Me"], "--service-account=Me" + ANY_OBJECT),
        (["--pull-secret=A"], "--pull-secret=A" + ANY_OBJECT),
        (["--pull-secret=a", "--pull-secret=a"], "--pull-secret is given twice for a."),
        (["--node-selector=gpu"], "--node-selector=gpu must be KEY=VALUE, a label of nodes."),
        (["--node-selector=a=1", "--node-selector=a=2"], "--node-selector is given twice for a."),
        (["--toleration=a:Never"], "--toleration=a:Never" + TOLERATION),
        (["--toleration==x"], "--toleration==x" + TOLERATION),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], flags: list[str], message: str) -> None:
    assert launch.main([*K8S, *flags, "train.py"]) == 2
    assert capsys.readouterr().err == f"mox: error: {message}\n"


@pytest.mark.parametrize(
    "flag",
    [
        "--env=TOKENIZERS_PARALLELISM=false",
        "--env=AWS_WEB_IDENTITY_TOKEN_FILE=/var/token",
        "--env=AWS_ACCESS_KEY_ID=AKIA",
        "--env=SORT_KEY=name",
    ],
)
def test_what_only_sounds_like_a_secret(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    spec, _ = emitted(capsys, flag)
    name, _, value = flag.removeprefix("--env=").partition("=")
    assert spec["containers"][0]["env"][1] == {"name": name, "value": value}


@pytest.mark.parametrize(
    "flag",
    ["--image=i", "--env=A=b", "--secret=s", "--volume=c:/d", "--gpu=0", "--node-selector=a=b"],
)
@pytest.mark.parametrize("emit", [[], ["--emit=slurm"]])
def test_only_pods_get_them(capsys: pytest.CaptureFixture[str], flag: str, emit: list[str]) -> None:
    assert launch.main([*emit, flag, __file__]) == 2
    name = flag.partition("=")[0]
    assert capsys.readouterr().err == (
        f"mox: error: {name} needs --emit=k8s: it says what pods are made of.\n"
    )
