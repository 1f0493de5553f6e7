from __future__ import annotations

import json

import pytest

from moxing.cluster.cluster import Cluster
from moxing.cluster.platforms.tf_config import read, with_chief
from moxing.errors import MoxValueError

FORM = (
    ' Its form: {"cluster": {"chief": ["host:port"], "worker": ["host:port"], "ps": []}, "task": '
    '{"type": "worker", "index": 0}}.'
)
UAI = {
    "cluster": {
        "master": ["ip0:2222"],
        "ps": ["ip0:2223", "ip1:2223"],
        "worker": ["ip1:2222"],
    },
    "task": {"type": "master", "index": 0},
    "environment": "cloud",
}


def _read(**changed):
    return read({"TF_CONFIG": json.dumps({**UAI, **changed})})


@pytest.mark.parametrize(
    ("task", "job", "index"),
    [
        ({"type": "master", "index": 0}, "worker", 0),
        ({"type": "master"}, "worker", 0),
        ({"type": "worker", "index": 0}, "worker", 1),
        ({"type": "worker", "index": "0"}, "worker", 1),
        ({"type": "ps", "index": 1}, "ps", 1),
        ({"type": "evaluator", "index": 0}, "evaluator", 0),
    ],
)
def test_master_is_the_first_worker(task, job, index):
    expected = Cluster(("ip0:2222", "ip1:2222"), ("ip0:2223", "ip1:2223"), job, index, "TF_CONFIG")
    assert _read(task=task) == expected
    chief = dict(UAI["cluster"])
    chief["chief"] = chief.pop("master")
    # One role: the name may differ between the two places, as where a program renames one of them.
    assert _read(cluster=chief, task=task) == expected
    if task["type"] == "master":
        task = {**task, "type": "chief"}
    assert _read(cluster=chief, task=task) == expected
    assert _read(task=task) == expected


def test_tensorflow_gets_a_chief():
    renamed = json.loads(with_chief(json.dumps(UAI)))
    assert renamed == {
        **UAI,
        "cluster": {"chief": ["ip0:2222"], "ps": ["ip0:2223", "ip1:2223"], "worker": ["ip1:2222"]},
        "task": {"type": "chief", "index": 0},
    }
    assert json.loads(with_chief(json.dumps(renamed))) == renamed
    assert with_chief("{}") == "{}"


def test_without_a_chief_worker_0_is_the_chief():
    got = _read(cluster={"worker": ["a:1", "b:1"]}, task={"type": "worker", "index": 1})
    assert got == Cluster(("a:1", "b:1"), (), "worker", 1, "TF_CONFIG")


def test_unset_or_empty_is_none():
    assert read({}) is None
    assert read({"TF_CONFIG": "  "}) is None
    assert _read(cluster={}) is None
    assert read({"TF_CONFIG": "{}"}) is None
    assert read({"TF_CONFIG": '{"job": {"args": []}, "task": {}}'}) is None
    assert read({"TF_CONFIG": '{"task": {"type": "master", "index": "0"}}'}) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"cluster":',
            "TF_CONFIG is not JSON (Expecting value: line 1 column 12 (char 11)): "
            '{"cluster":.' + FORM,
        ),
        ("[1]", "TF_CONFIG must be an object, not [1]." + FORM),
        (
            '{"task": {"type": "worker", "index": 1}}',
            """TF_CONFIG has no 'cluster': {"task": {"type": "worker", "index": 1}}.""" + FORM,
        ),
        (
            '{"clusters": {"worker": ["a:1"]}}',
            """TF_CONFIG has no 'cluster': {"clusters": {"worker": ["a:1"]}}.""" + FORM,
        ),
        ('{"cluster": 3}', "TF_CONFIG's cluster must be an object, not 3." + FORM),
        (
            '{"cluster": {"worker": ["a:1"]}}',
            "TF_CONFIG has no 'task', so it does not say which process this is: "
            """'{"cluster": {"worker": ["a:1"]}}'.""" + FORM,
        ),
        (
            '{"cluster": {"worker": ["a:1"], "worker": ["b:1"]}, "task": {}}',
            "TF_CONFIG has the key 'worker' twice, with ['a:1'] and ['b:1']: drop one." + FORM,
        ),
    ],
)
def test_bad_text(text, message):
    with pytest.raises(MoxValueError) as caught:
        read({"TF_CONFIG": text})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"cluster": {"chief": ["a:1"], "master": ["b:1"]}},
            "TF_CONFIG has both 'chief' and 'master', which are two names of one role: drop one.",
        ),
        (
            {"cluster": {"workers": ["a:1"]}},
            "TF_CONFIG has the unknown role 'workers'; known are chief, master, worker, ps, "
            "evaluator. Did you mean 'worker'?",
        ),
        (
            {"cluster": {"worker": "a:1"}},
            "TF_CONFIG needs a list of 'host:port' for worker, not 'a:1'.",
        ),
        (
            {"cluster": {"chief": ["a:1", "b:1"]}},
            "TF_CONFIG names 2 processes as chief; there can be one only.",
        ),
        (
            {"cluster": {"ps": ["a:1"]}},
            'TF_CONFIG names no chief and no worker: {"cluster": {"ps": ["a:1"]}, "task": {"type": '
            '"master", "index": 0}, "environment": "cloud"}.',
        ),
        (
            {"task": {"type": "boss", "index": 0}},
            "TF_CONFIG has the unknown task type 'boss'; known are chief, master, worker, ps, "
            "evaluator.",
        ),
        (
            {"task": {"index": 0}},
            "TF_CONFIG has the unknown task type None; known are chief, master, worker, ps, "
            "evaluator.",
        ),
        (
            {"task": {"type": "worker"}},
            "TF_CONFIG needs a number as the task's index, not None.",
        ),
        (
            {"task": {"type": "worker", "index": "first"}},
            "TF_CONFIG needs a number as the task's index, not 'first'.",
        ),
        (
            {"task": {"type": "worker", "index": 1}},
            "TF_CONFIG says that this process is worker 1, but there is only worker 0.",
        ),
        (
            {"task": {"type": "ps", "index": 2}},
            "TF_CONFIG says that this process is ps 2, but there is only ps 0 to 1.",
        ),
        (
            {"cluster": {"worker": ["a:1"]}},
            "TF_CONFIG says that this process is master 0, but its cluster has no master.",
        ),
        (
            {"cluster": {"master": ["a:1"], "evaluator": ["b:1", "a:1"]}},
            "TF_CONFIG has the address a:1 twice, for master 0 and for evaluator 1; each process"
            " needs its own.",
        ),
        (
            {"cluster": {"master": ["a:1"], "ps": ["A:1"]}},
            "TF_CONFIG has the address A:1 twice, for master 0 and for ps 0; each process needs its"
            " own.",
        ),
    ],
)
def test_bad_parts(changed, message):
    with pytest.raises(MoxValueError) as caught:
        _read(**changed)
    assert str(caught.value) == message + FORM


def test_bad_address():
    with pytest.raises(MoxValueError) as caught:
        _read(cluster={"worker": ["a"]})
    assert str(caught.value) == (
        "TF_CONFIG, role worker: 'a' is not host:port, such as 10.0.0.1:2222."
    )
