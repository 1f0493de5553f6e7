"""Which description counts, and which two can't be."""

from __future__ import annotations

import json
import time

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.resolve import resolve
from moxing.cluster.secret import Secret
from moxing.errors import MoxValueError

TWO = "10.0.0.1:2222,10.0.0.2:2222"
WORKERS = ("10.0.0.1:2222", "10.0.0.2:2222")
FLAGS = {"job_name": "worker", "task_index": 1, "worker_hosts": TWO, "ps_hosts": ""}
NO_FLAGS = {"job_name": "", "task_index": 0, "worker_hosts": "", "ps_hosts": ""}


def _config(index: object = 1, workers=WORKERS):
    cluster = {"cluster": {"worker": list(workers)}, "task": {"type": "worker", "index": index}}
    return {"TF_CONFIG": json.dumps(cluster)}


def _message(given, environ):
    with pytest.raises(MoxValueError) as caught:
        resolve(given, environ, "train.py")
    return str(caught.value)


def test_flags():
    assert resolve(FLAGS, {}, "train.py") == Cluster(WORKERS, (), "worker", 1, "flags")
    given = {**FLAGS, "ps_hosts": "10.0.0.1:2223", "job_name": "ps", "task_index": "0"}
    assert resolve(given, {}, "train.py") == Cluster(WORKERS, ("10.0.0.1:2223",), "ps", 0, "flags")


@pytest.mark.parametrize(
    ("given", "environ"),
    [
        (NO_FLAGS, {}),
        ({}, {}),
        ({"worker_hosts": "10.0.0.1:2222"}, {}),
        ({"worker_hosts": "10.0.0.1:2222", "job_name": "worker"}, {}),
        (NO_FLAGS, {"TF_CONFIG": ""}),
        (NO_FLAGS, {"TF_CONFIG": '{"cluster": {}, "task": {}, "environment": "cloud"}'}),
        (NO_FLAGS, _config(0, WORKERS[:1])),
        (NO_FLAGS, {"DLS_TASK_NUMBER": "1", "BATCH_CUSTOM0_HOSTS": "a:1", "DLS_TASK_INDEX": "0"}),
        (NO_FLAGS, {"VC_WORKER_HOSTS": "a", "VC_TASK_INDEX": "0"}),
        (NO_FLAGS, {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_JOB_NODELIST": "n1"}),
        (NO_FLAGS, {"SLURM_NTASKS": "4", "SLURM_JOB_NODELIST": "n[1-4]"}),
    ],
)
def test_one_process(given, environ):
    assert resolve(given, environ, "train.py") is None


def test_equal_descriptions_are_fine():
    assert resolve(FLAGS, _config(), "train.py") == Cluster(WORKERS, (), "worker", 1, "flags")


def test_unequal_descriptions_are_both_shown():
    assert _message(FLAGS, _config(index=0)) == (
        f"Two descriptions of the cluster disagree. By flags, this is worker 1 of the workers {TWO}"
        f". By TF_CONFIG, this is worker 0 of the workers {TWO}. Correct one of them, or take it "
        "away."
    )


def test_a_platform_that_describes_nodes_must_name_the_same_hosts():
    environ = {
        "DLS_TASK_NUMBER": "2",
        "DLS_TASK_INDEX": "1",
        "BATCH_CUSTOM0_HOSTS": "10.0.0.1:6666",
        "BATCH_CUSTOM1_HOSTS": "10.0.0.2:6666",
    }
    # A worker and a ps a node, at ports of their own.
    given = {**FLAGS, "ps_hosts": "10.0.0.1:2223,10.0.0.2:2223"}
    cluster = resolve(given, environ, "train.py")
    assert cluster is not None
    assert (cluster.task, cluster.source) == ("worker 1", "flags")
    ps = resolve({**given, "job_name": "ps"}, environ, "train.py")
    assert ps is not None
    assert ps.address == "10.0.0.2:2223"
    assert _message({**given, "task_index": 0}, environ).startswith(
        "Two descriptions of the cluster disagree. By flags, this is worker 0 of the workers "
    )
    assert "By the DLS variables, this is worker 1 of the workers 10.0.0.1:6666,10.0.0.2:6666." in (
        _message({**given, "worker_hosts": "10.0.0.1:2222,10.0.0.3:2222"}, environ)
    )
    # Names can't be compared with numbers.
    named = {**environ, "BATCH_CUSTOM0_HOSTS": "job-0:1", "BATCH_CUSTOM1_HOSTS": "job-1:1"}
    assert resolve(given, named, "train.py") == cluster


def test_slurm_counts_where_nothing_else_speaks():
    environ = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_NODELIST": "n[1-2]"}
    cluster = resolve(NO_FLAGS, environ, "train.py")
    assert cluster is not None
    assert cluster.workers == ("n1:20000", "n2:20000")
    assert resolve(FLAGS, environ, "train.py") == Cluster(WORKERS, (), "worker", 1, "flags")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"task_index": 2},
            f"By flags, this process is worker 2, but there is only worker 0 to 1: {TWO}.",
        ),
        (
            {"task_index": -1},
            f"By flags, this process is worker -1, but there is only worker 0 to 1: {TWO}.",
        ),
        (
            {"job_name": "ps", "task_index": 0},
            "By flags, this process is ps 0, but there is no ps: its list of hosts is empty.",
        ),
        (
            {"job_name": "worke"},
            "--job_name=worke is unknown; it is 'worker' or 'ps'. Did you mean 'worker'?",
        ),
        (
            {"job_name": ""},
            "--worker_hosts and --ps_hosts name 2 processes, but --job_name does not say which of "
            "them this is. For example: train.py --worker_hosts=10.0.0.1:2222,10.0.0.2:2222 "
            "--job_name=worker --task_index=0 (and 1 on the other machine).",
        ),
        (
            {"worker_hosts": ""},
            "--job_name=worker needs --worker_hosts. For example: train.py "
            "--worker_hosts=10.0.0.1:2222,10.0.0.2:2222 --job_name=worker --task_index=0 (and 1 on "
            "the other machine).",
        ),
        (
            {"worker_hosts": "10.0.0.1,10.0.0.2"},
            "--worker_hosts: '10.0.0.1' is not host:port, such as 10.0.0.1:2222.",
        ),
        (
            {"worker_hosts": "a:99999,b:1"},
            "--worker_hosts: 'a:99999' is not host:port, such as 10.0.0.1:2222.",
        ),
        (
            {"ps_hosts": "10.0.0.1:2222"},
            "By flags, worker 0 and ps 0 have the same address 10.0.0.1:2222; each process needs a "
            "port of its own.",
        ),
        (
            {"worker_hosts": "a:1,a:1"},
            "By flags, worker 0 and worker 1 have the same address a:1; each process needs a port "
            "of its own.",
        ),
        ({"task_index": "one"}, "--task_index='one' is not a number."),
    ],
)
def test_what_can_not_be_is_refused(changed, message):
    assert _message({**FLAGS, **changed}, {}) == message


@pytest.mark.parametrize("variable", ["grpc_proxy", "https_proxy", "http_proxy"])
def test_a_proxy_between_the_tasks_is_refused(variable):
    environ = {variable: "http://proxy:3128", "no_proxy": "localhost,10.0.0.1"}
    assert _message(FLAGS, environ) == (
        f"The environment variable {variable} would send TensorFlow's traffic for 10.0.0.2 to a "
        "proxy, which can't pass it on. Before the start, run: export "
        f"no_proxy=localhost,10.0.0.1,10.0.0.2 (or unset {variable} for this process)."
    )


@pytest.mark.parametrize(
    ("workers", "exceptions"),
    [
        (TWO, "10.0.0.1,10.0.0.2"),
        (TWO, "10.0.0.0/24"),
        ("a.cluster.local:1,b.cluster.local:1", "cluster.local"),
        ("a.cluster.local:1,b.cluster.local:1", ".cluster.local, x"),
    ],
)
def test_a_proxy_with_exceptions_for_the_tasks_is_fine(workers, exceptions):
    environ = {"http_proxy": "http://proxy:3128", "no_proxy": exceptions}
    assert resolve({**FLAGS, "worker_hosts": workers}, environ, "train.py") is not None


def test_the_secret_of_the_environment_is_the_job_s() -> None:
    text = "a secret that nobody guesses"
    with_secret = resolve(FLAGS, {"MOX_JOB_SECRET": text})
    assert with_secret is not None
    assert with_secret.secret == Secret(text.encode())
    without = resolve(FLAGS, {})
    assert without == with_secret  # It is no part of the description.
    assert without is not None
    assert without.secret is None
    with pytest.raises(MoxValueError, match="it needs 16 to 1024"):
        resolve(FLAGS, {"MOX_JOB_SECRET": "guessed"})
    assert resolve(NO_FLAGS, {"MOX_JOB_SECRET": "guessed"}) is None  # Alone, it meets nobody.


MANY = ",".join(f"h{i}:1" for i in range(100_001))


@pytest.mark.parametrize(
    ("given", "environ", "message"),
    [
        (NO_FLAGS, {"TF_CONFIG": "[" * 100_000}, "TF_CONFIG is not JSON"),
        (NO_FLAGS, {"TF_CONFIG": '{"cluster":' * 60_000}, "TF_CONFIG is not JSON"),
        (NO_FLAGS, _config("9" * 5000), "needs a number as the task's index"),
        (NO_FLAGS, _config(0, ["a:" + "9" * 5000, "b:1"]), "is not host:port"),
        (NO_FLAGS, _config(0, ["a" * 5000 + ":1", "b:1"]), "is not host:port"),
        (NO_FLAGS, _config(0, MANY.split(",")), "the job has 100001 tasks; 100000 is the most"),
        ({**FLAGS, "worker_hosts": MANY}, {}, "the job has 100001 tasks; 100000 is the most"),
        ({**FLAGS, "task_index": "9" * 5000}, {}, "is not a number"),
        (
            NO_FLAGS,
            {"VC_WORKER_HOSTS": "a,b", "VC_TASK_INDEX": "9" * 5000},
            "VC_TASK_INDEX is '999",
        ),
        (
            {**FLAGS, "worker_hosts": MANY[:-10], "task_index": "100001"},
            {},
            "h19:1 and ",
        ),
        (
            NO_FLAGS,
            {"VC_WORKER_HOSTS": MANY[:-10], "VC_WORKER_NUM": "3", "VC_TASK_INDEX": "0"},
            "h19:1 and ",
        ),
    ],
)
def test_descriptions_that_are_too_large_are_refused_at_once(
    given: dict[str, object], environ: dict[str, str], message: str
) -> None:
    text = _message(given, environ)
    assert message in text
    assert len(text) < 2000


def test_a_job_of_ten_thousand_tasks_is_described_in_no_time() -> None:
    began = time.process_time()
    assert resolve(FLAGS | {"worker_hosts": ",".join(MANY.split(",")[:10_000])}, {}) is not None
    assert time.process_time() - began < 5  # Ten seconds and more, if each were compared with all.
