"""Devices and processes draw random numbers of their own, from which a run can go on exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusters import Job

pytestmark = pytest.mark.slow
RUNS = ["noise/sgd", "noise/momentum@3", "noise/momentum", "noise/adam"]
KINDS = [f"drawn_{index}" for index in range(5)]


def plan(folder: Path) -> dict[str, Any]:
    common = {"log_dir": str(folder / "log"), "batch": 4, "shares": 4, "steps": 6}
    return {**common, "runs": RUNS, "unseeded": ["noise/adam"]}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Two workers of two devices each, which have run all of RUNS."""
    folder = tmp_path_factory.mktemp("cluster")
    job = Job(folder, plan(folder), 2, 0, "--num_gpus=2", "--seed=7")
    assert set(job.codes().values()) == {0}, job.text("worker0")[-3000:]
    return job


def outputs(job: Job, run: int, devices: int = 2) -> list[list[dict[str, Any]]]:
    """What each device of each worker put out, step by step."""
    found = []
    for worker in (name for name in job.processes if name.startswith("worker")):
        flat = job.told(worker)[run]["outputs"]
        found += [flat[device::devices] for device in range(devices)]
    return found


@pytest.mark.parametrize("run", [0, 3])
def test_every_device_of_every_worker_has_its_own(cluster: Job, run: int) -> None:
    of_all = outputs(cluster, run)
    assert [len(steps) for steps in of_all] == [6] * 4
    for kind in KINDS:
        drawn = {str(step[kind]) for steps in of_all for step in steps}
        assert len(drawn) == 4 * 6, (kind, run)


def test_variables_start_equal_everywhere(cluster: Job) -> None:
    assert len({str(steps[0]["w"]) for steps in outputs(cluster, 0)}) == 1
    assert len({str(steps[5]["w"]) for steps in outputs(cluster, 0)}) == 1


def test_a_resumed_run_goes_on_with_the_numbers_of_each(cluster: Job) -> None:
    for whole, first, then in zip(*(outputs(cluster, run) for run in range(3)), strict=True):
        for kind in KINDS[:3]:
            assert [step[kind] for step in whole] == [step[kind] for step in first + then]


def test_the_first_device_of_the_first_worker_draws_as_if_alone(
    cluster: Job, tmp_path: Path
) -> None:
    alone = Job(tmp_path, {**plan(tmp_path), "shares": 1}, 1, 0, "--seed=7")
    assert set(alone.codes().values()) == {0}, alone.text("worker0")[-3000:]
    (single,) = outputs(alone, 0, 1)
    for kind in KINDS[:3]:
        assert [s[kind] for s in single] == [s[kind] for s in outputs(cluster, 0)[0]]
    assert single[0]["w"] == outputs(cluster, 0)[0][0]["w"]
