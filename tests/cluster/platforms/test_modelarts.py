from __future__ import annotations

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.platforms.modelarts import read
from moxing.errors import MoxValueError

DLS = {
    "DLS_TASK_NUMBER": "2",
    "DLS_TASK_INDEX": "1",
    "BATCH_CUSTOM0_HOSTS": "job-0.job:6666",
    "BATCH_CUSTOM1_HOSTS": "job-1.job:6666",
}
VC = {"VC_WORKER_HOSTS": "a.job,b.job", "VC_WORKER_NUM": "2", "VC_TASK_INDEX": "0"}


def test_dls():
    expected = ("job-0.job:6666", "job-1.job:6666")
    assert read(DLS) == Cluster(expected, (), "worker", 1, "the DLS variables")
    # Where both are set, the one that knows ports counts.
    assert read({**VC, **DLS}) == read(DLS)


def test_vc():
    expected = ("a.job:2222", "b.job:2222")
    assert read(VC) == Cluster(expected, (), "worker", 0, "the VC variables")
    servers = {**VC, "VC_PS_HOSTS": "c.job", "MA_TASK_NAME": "ps", "MA_NUM_HOSTS": "3"}
    assert read(servers) == Cluster(expected, ("c.job:2222",), "ps", 0, "the VC variables")


def test_one_node_or_another_platform_is_none():
    assert read({}) is None
    assert read({**DLS, "DLS_TASK_NUMBER": "1"}) is None
    assert read({"MA_NUM_HOSTS": "1", "VC_WORKER_HOSTS": "a", "VC_TASK_INDEX": "0"}) is None


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            {**DLS, "BATCH_CUSTOM1_HOSTS": ""},
            "DLS_TASK_NUMBER=2, but BATCH_CUSTOM1_HOSTS is not set: the platform sets one for each "
            "task. Pass --worker_hosts, --job_name and --task_index instead.",
        ),
        (
            {**DLS, "DLS_TASK_INDEX": ""},
            "The environment variable DLS_TASK_INDEX is not set; the platform sets it.",
        ),
        (
            {**DLS, "DLS_TASK_NUMBER": "two"},
            "The environment variable DLS_TASK_NUMBER is 'two', not a number; the "
            "platform sets it.",
        ),
        (
            {**VC, "VC_WORKER_NUM": "3"},
            "VC_WORKER_NUM=3, but VC_WORKER_HOSTS names 2 hosts: a.job,b.job.",
        ),
        (
            {**VC, "MA_TASK_NAME": "boss"},
            "MA_TASK_NAME='boss' is unknown; it is 'worker' or 'ps'.",
        ),
        (
            {**VC, "VC_WORKER_HOSTS": "a:b,c"},
            "VC_WORKER_HOSTS: 'a:b' is not host:port, such as 10.0.0.1:2222.",
        ),
    ],
)
def test_bad_variables(environ, message):
    with pytest.raises(MoxValueError) as caught:
        read(environ)
    assert str(caught.value) == message
