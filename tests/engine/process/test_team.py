"""The same program on several devices and processes learns the same, and ends whatever happens."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warm
from clusters import Job, assert_equal, weights

from moxing.launch.ports import free_ports

pytestmark = pytest.mark.slow
RUNS = ["classifier/sgd", "classifier/adam", "two_losses/momentum"]
PLACEMENTS = [
    (1, 0, 2, ()),
    (1, 0, 4, ("--variable_update=replicated",)),
    (2, 0, 1, ()),
    (3, 0, 1, ()),
    (2, 2, 2, ()),
    (2, 2, 1, ("--variable_update=parameter_server",)),
]


def plan(folder: Path, **others: Any) -> dict[str, Any]:
    base = {"log_dir": str(folder / "log"), "batch": 24, "shares": 1, "runs": RUNS, "steps": 50}
    return {**base, **others}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one device learns."""
    folder = tmp_path_factory.mktemp("alone")
    split = [f"normalized.{workers}x{devices}/momentum" for workers, _, devices, _ in PLACEMENTS]
    job = Job(folder, plan(folder, runs=[*RUNS, *dict.fromkeys(split)]))
    assert set(job.codes().values()) == {0}, job.text("worker0")
    return folder


@pytest.mark.parametrize(("workers", "ps", "devices", "flags"), PLACEMENTS)
def test_every_placement_learns_the_same(
    tmp_path: Path, alone: Path, workers: int, ps: int, devices: int, flags: Any
) -> None:
    normalized = "normalized/momentum"
    asked = plan(tmp_path, shares=workers * devices, runs=[*RUNS, normalized])
    job = Job(tmp_path, asked, workers, ps, f"--num_gpus={devices}", *flags)
    codes = job.codes()
    assert set(codes.values()) == {0}, (codes, job.text("worker0")[-3000:])
    for run in RUNS:
        assert_equal(weights(alone / "log" / run), weights(tmp_path / "log" / run))
    # Batch norm's statistics are each device's own, so equal is what has the same in one device.
    split = alone / "log" / f"normalized.{workers}x{devices}/momentum"
    assert_equal(weights(split), weights(tmp_path / "log" / normalized))


def test_workers_without_synchronization_share_the_steps(tmp_path: Path) -> None:
    asked = plan(tmp_path, runs=["classifier/sgd"], late=1.0)
    job = Job(tmp_path, asked, 2, 1, "--sync_replicas=false")
    assert set(job.codes().values()) == {0}, job.text("worker0")[-3000:]
    assert "Trained 100 steps, from global step 0 to 100" in job.text("worker1")
    assert int(weights(tmp_path / "log" / "classifier" / "sgd")["global_step"]) == 100


@pytest.mark.parametrize("slow", [0, 1])
def test_data_that_ends_early_ends_all_and_is_told(tmp_path: Path, slow: int) -> None:
    asked = plan(
        tmp_path,
        **{"shares": 2, "samples": 12 * 20, "runs": ["classifier/momentum"], "steps": 1000},
        **{"seconds": 0.01, "slow": [slow]},
    )
    job = Job(tmp_path, asked, 2)
    assert set(job.codes().values()) == {0}, job.text("worker0")[-3000:]
    assert int(weights(tmp_path / "log" / "classifier" / "momentum")["global_step"]) == 20
    assert "The data of worker 1 ended after 20 steps, so training ends for all." in job.text(
        "worker0"
    )
    dropped = (
        r"Dropped here: data of at least \d+ steps?\. Give every worker as much data, or repeat"
    )
    assert re.search(dropped, job.text("worker0"))


@pytest.mark.parametrize("victim", ["worker0", "worker1", "ps0"])
def test_a_killed_process_ends_the_others_soon(tmp_path: Path, victim: str) -> None:
    """Of one placement: test_lasting kills the tasks of the others, and starts them again."""
    asked = plan(
        tmp_path, shares=2, runs=["classifier/sgd"], steps=100_000, seconds=0.002, save_steps=5
    )
    job = Job(tmp_path, asked, 2, 1)
    for worker in ("worker0", "worker1"):
        job.wait_for(worker, "step: 10(")
    job.processes[victim].kill()
    codes = job.codes(45.0)  # Before a silence would count, also on a machine that is busy.
    survivors = {name: code for name, code in codes.items() if name != victim}
    task = f"{victim[:-1]} {victim[-1]} ("
    assert all(code not in (0, -9) for code in survivors.values()), survivors
    for name in survivors:
        assert task in job.text(name), job.text(name)[-3000:]
        assert "died" in job.text(name), job.text(name)[-3000:]
        assert not re.search("^[IWE]0000 ", job.text(name), re.M), job.text(name)[-3000:]
    assert int(weights(tmp_path / "log" / "classifier" / "sgd")["global_step"]) >= 5


def test_processes_with_other_flags_are_refused(tmp_path: Path) -> None:
    first = Job(tmp_path, plan(tmp_path, runs=["classifier/sgd"]), 1)
    assert first.codes() == {"worker0": 0}
    ports = [f"127.0.0.1:{port}" for port in free_ports(2)]
    hosts = f"--worker_hosts={','.join(ports)}"
    job = Job(tmp_path / "one", plan(tmp_path), 1, 0, hosts, "--job_name=worker", "--seed=1")
    other = Job(
        tmp_path / "two", plan(tmp_path), 1, 0, hosts, "--job_name=worker", "--task_index=1"
    )
    codes = [*job.codes().values(), *other.codes().values()]
    assert all(codes), codes
    for one in (job, other):
        told = "the flag --seed is 1 in worker 0 and not given in worker 1. All tasks must be"
        assert told in one.text("worker0"), one.text("worker0")


def test_results_are_told_by_each_worker(tmp_path: Path) -> None:
    job = Job(tmp_path, plan(tmp_path, shares=2, runs=["classifier/sgd"]), 2)
    assert set(job.codes().values()) == {0}
    for worker in ("worker0", "worker1"):
        last = [line for line in job.text(worker).splitlines() if line.startswith("{")]
        assert json.loads(last[-1]) == {"run": "classifier/sgd", "global_step": 50}


def test_mirrored_strategy_learns_the_same(tmp_path: Path) -> None:
    """TensorFlow's own replicas, as an independent answer."""
    job = Job(
        tmp_path, plan(tmp_path, shares=2, runs=["classifier/momentum"]), 1, 0, "--num_gpus=2"
    )
    assert set(job.codes().values()) == {0}, job.text("worker0")
    ours = weights(tmp_path / "log" / "classifier" / "momentum")
    theirs = Path(__file__).parents[1] / "mirrored.py"
    done = warm.run(
        [sys.executable, str(theirs), "2", "24", "50"],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for name, values in json.loads(done.stdout.splitlines()[-1]).items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-4, atol=1e-5, err_msg=name)
