from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moxing.cluster.cluster import Cluster
from moxing.cluster.platforms.slurm import expand, read
from moxing.errors import MoxError, MoxValueError

JOB = {"SLURM_PROCID": "2", "SLURM_NTASKS": "3", "SLURM_JOB_NODELIST": "gpu[09-11]"}


def test_one_task_a_node():
    expected = ("gpu09:20000", "gpu10:20000", "gpu11:20000")
    assert read(JOB) == Cluster(expected, (), "worker", 2, "the Slurm variables")


def test_several_tasks_a_node_and_a_job_number():
    environ = {
        **JOB,
        "SLURM_NTASKS": "5",
        "SLURM_TASKS_PER_NODE": "2(x2),1",
        "SLURM_JOB_ID": "1003",
        "SLURM_NODEID": "1",
    }
    cluster = read(environ)
    assert cluster is not None
    port = 20000 + 1003 * 16 % 10000
    assert cluster.workers == (
        f"gpu09:{port}",
        f"gpu09:{port + 1}",
        f"gpu10:{port}",
        f"gpu10:{port + 1}",
        f"gpu11:{port}",
    )


@pytest.mark.parametrize(
    "given",
    [
        {"SLURM_NTASKS": "99999999"},
        {"SLURM_NTASKS": "9" * 5000},
        {"SLURM_PROCID": "9" * 5000},
        {"SLURM_JOB_NODELIST": "gpu[1-99999999]"},
        {"SLURM_JOB_NODELIST": "gpu[1-1000]-[1-1000]"},
        {"SLURM_JOB_NODELIST": ",".join(["gpu[1-60000]"] * 4)},
        {"SLURM_JOB_NODELIST": "[1]" * 5000},
        {"SLURM_JOB_NODELIST": f"gpu[1-{'9' * 5000}]"},
        {"SLURM_TASKS_PER_NODE": ",".join(["1(x60000)"] * 4)},
        {"SLURM_TASKS_PER_NODE": "9" * 5000},
    ],
    ids=lambda given: "-".join(given),
)
def test_sizes_that_would_fill_the_memory_are_refused_at_once(given: dict[str, str]) -> None:
    with pytest.raises(MoxValueError) as told:
        read({**JOB, **given})

    assert len(str(told.value)) < 500


def test_the_step_counts_before_the_job():
    step = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "gpu09,gpu11", "SLURM_PROCID": "1"}
    cluster = read({**JOB, **step})
    assert cluster is not None
    assert cluster.workers == ("gpu09:20000", "gpu11:20000")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a,b-1", ["a", "b-1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,2],login", ["n08", "n09", "n10", "n2", "login"]),
        ("r[1-2]n[1-2]-x", ["r1n1-x", "r1n2-x", "r2n1-x", "r2n2-x"]),
    ],
)
def test_node_lists(text, names):
    assert expand(text) == names


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"SLURM_JOB_NODELIST": "gpu[9-x]"},
            "The node list 'gpu[9-x]' of Slurm can't be read: '9-x'.",
        ),
        ({"SLURM_JOB_NODELIST": "gpu[1"}, "The node list 'gpu[1' of Slurm can't be read."),
        ({"SLURM_PROCID": "x"}, "SLURM_PROCID is 'x', not a number; Slurm sets it."),
        (
            {"SLURM_TASKS_PER_NODE": "2,x"},
            "Slurm's tasks per node '2,x' can't be read.",
        ),
        (
            {"SLURM_TASKS_PER_NODE": "2(x2)"},
            "Slurm's variables don't fit: 3 tasks on 3 nodes, with '2(x2)' tasks on each. Pass "
            "--worker_hosts, --job_name and --task_index instead.",
        ),
        (
            {"SLURM_NODEID": "0"},
            "Slurm runs task 2 on node 0 of gpu[09-11], where a block distribution has it on node "
            "2. Use srun --distribution=block, or pass --worker_hosts, --job_name and "
            "--task_index.",
        ),
    ],
)
def test_bad_variables(changed, message):
    with pytest.raises(MoxValueError) as caught:
        read({**JOB, **changed})
    assert str(caught.value) == message


@given(st.text(alphabet="ab01-9,[] ", max_size=20))
def test_any_text_is_read_or_refused(text):
    try:
        names = expand(text)
    except MoxError:
        return
    assert names
