"""Where a run computes, from flags and the environment."""

from __future__ import annotations

import json
import os
import sys

import pytest

from moxing import flags
from moxing.errors import MoxValueError
from moxing.flags import values
from moxing.flags.placement import PERSONAL, placement


@pytest.mark.parametrize(
    ("update", "copied", "trial"),
    [
        (None, None, False),
        ("parameter_server", False, False),
        ("replicated", True, False),
        ("auto", None, True),
    ],
)
def test_where_variables_live(update: str | None, copied: bool | None, trial: bool) -> None:
    with flags.overridden(variable_update=update, num_gpus=2):
        placed = placement()
    assert (placed.copied, placed.trial, placed.on_servers) == (copied, trial, False)


@pytest.mark.parametrize(
    ("num_gpus", "devices", "hidden"), [(0, 1, "-1"), (1, 1, "0"), (2, 2, "0")]
)
def test_no_gpu_is_one_device_that_is_a_cpu(
    monkeypatch: pytest.MonkeyPatch, num_gpus: int, devices: int, hidden: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with flags.overridden(num_gpus=num_gpus):
        assert placement().devices == devices
    assert os.environ["CUDA_VISIBLE_DEVICES"] == hidden


def test_gradients_travel_as_16_bits_where_asked() -> None:
    assert placement().compressed is False
    with flags.overridden(compress_gradients=True):
        assert placement().compressed is True


def test_which_flags_processes_may_have_as_they_like() -> None:
    assert {
        *("job_name", "task_index", "worker_hosts", "ps_hosts", "session_timeout"),
        *("stall_timeout", "log_first_clone", "summary_verbosity", "profile_steps"),
        *("num_inter_threads", "num_intra_threads"),
    } == PERSONAL
    assert flags.FLAG_NAMES >= PERSONAL


def test_processes_compare_all_other_flags() -> None:
    hosts = {"worker_hosts": "127.0.0.1:1,127.0.0.1:2", "job_name": "worker"}
    with flags.overridden(**hosts):
        first = placement().group.digest
    with flags.overridden(**hosts, task_index=1, stall_timeout=7, num_inter_threads=3):
        assert placement().group.digest == first
    with flags.overridden(**hosts, num_gpus=2, seed=4):
        second = placement().group.digest
    assert {name: second[name] for name in second if second[name] != first[name]} == {
        "the flag --num_gpus": "2",
        "the flag --seed": "4",
    }


def _task(role: str) -> str:
    hosts = {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]}
    return json.dumps({"cluster": hosts, "task": {"type": role, "index": 0}})


def test_a_cluster_that_the_program_describes_itself_needs_no_flags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(values, "_GIVEN", values._Given())
    monkeypatch.setattr(sys, "argv", ["train.py"])
    with flags.overridden(job_name="worker", task_index=2, worker_hosts="a:1,b:1,c:1"):
        assert flags.cluster_flags()["task_index"] == 2
        monkeypatch.setenv("TF_CONFIG", _task("worker"))
        cluster = placement().group.cluster
    assert cluster is not None
    assert cluster.workers == ("127.0.0.1:1", "127.0.0.1:2")


def test_a_platforms_description_must_agree_with_the_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", _task("worker"))
    monkeypatch.setattr(values, "_GIVEN", values._Given())
    monkeypatch.setattr(sys, "argv", ["train.py"])
    with (
        flags.overridden(job_name="worker", worker_hosts="a:1,b:1"),
        pytest.raises(MoxValueError, match="Two descriptions of the cluster disagree"),
    ):
        placement()
