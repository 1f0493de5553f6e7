"""A signal in a cluster whose step waits for one process's data saves the step before it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from clusters import Job, assert_equal, weights

from moxing.engine.checkpoint.restoring.newest import newest

pytestmark = pytest.mark.slow
BATCH = 8
WAITS = 5 * BATCH  # In step 6.
NORMALIZED = "normalized/momentum"


def plan(folder: Path, **others: Any) -> dict[str, Any]:
    base = {"log_dir": str(folder / "log"), "batch": 2 * BATCH, "shares": 2, "steps": 99}
    return {**base, "runs": [NORMALIZED], "log_every": 1, "patience": 2.0, **others}


def stopped(job: Job, waits: str, told: list[str], last: str = "step: 4(") -> dict[str, int]:
    """The exit codes of a job of which some processes get SIGTERM in a step that waits."""
    try:
        job.wait_for(waits, "WAITS")
        job.wait_for("worker0", last)
        began = time.monotonic()
        for name in told:
            job.processes[name].terminate()
        codes = job.codes()
        assert time.monotonic() - began < 60.0, "it waited"
        return codes
    finally:
        job.kill()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of a run of five steps that nothing interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    job = Job(folder, plan(folder, steps=5), 2, 0, "--seed=1")
    assert set(job.codes().values()) == {0}, job.text("worker0")
    return folder / "log" / NORMALIZED


@pytest.mark.parametrize(
    ("waits", "told", "ps"),
    [
        ([None, WAITS], ["worker0"], 0),
        ([WAITS, None], ["worker1"], 0),
        ([None, WAITS], ["ps0"], 1),
    ],
)
def test_the_last_finished_step_is_saved_and_all_leave(
    tmp_path: Path, whole: Path, waits: list[Any], told: list[str], ps: int
) -> None:
    place = ["--variable_update=parameter_server"] if ps else []
    job = Job(tmp_path, plan(tmp_path, waits=waits), 2, ps, "--seed=1", *place)
    codes = stopped(job, f"worker{waits.index(WAITS)}", told)
    assert set(codes.values()) == {143}, (codes, job.text("worker0"), job.text("worker1"))
    assert "The step after step 5 still waits for data, here or in another process" in job.text(
        "worker0"
    )
    log = tmp_path / "log" / NORMALIZED
    assert f"Stopped by SIGTERM at step 5, which is saved: {log}/model.ckpt-5." in job.text(
        "worker0"
    )
    assert "Stopped by SIGTERM at step 5, which worker 0 saves." in job.text("worker1")
    found = newest(log)
    assert found is not None
    assert found.step == 5
    # Statistics of batch normalization too: no process has made a part of step 6.
    assert_equal(weights(log), weights(whole))


@pytest.mark.parametrize("index", [0, 1])
def test_a_worker_that_trains_by_itself_stands_aside(tmp_path: Path, index: int) -> None:
    waits = [WAITS if number == index else None for number in range(2)]
    flags = ("--sync_replicas=false", "--variable_update=parameter_server")
    asked = plan(tmp_path, waits=waits, steps=100_000, runs=["classifier/sgd"])
    job = Job(tmp_path, asked, 2, 1, *flags)
    codes = stopped(job, f"worker{index}", ["worker0", "worker1", "ps0"])
    assert set(codes.values()) == {143}, (codes, job.text("worker0"), job.text("worker1"))
    text = job.text("worker0")
    found = newest(tmp_path / "log" / "classifier" / "sgd")
    assert found is not None
    assert f"Stopped by SIGTERM at step {found.step}, which is saved: {found.prefix}." in text
    assert "which worker 0 saves." in job.text("worker1")


def test_an_optimizer_whose_state_is_spread_is_left_at_its_last_checkpoint(tmp_path: Path) -> None:
    asked = plan(tmp_path, waits=[None, WAITS], runs=["classifier/batched"], save_steps=3)
    job = Job(tmp_path, asked, 2)
    codes = stopped(job, "worker1", ["worker0", "worker1"])
    assert set(codes.values()) == {143}, (codes, job.text("worker0"), job.text("worker1"))
    log = tmp_path / "log" / "classifier" / "batched"
    found = newest(log)
    assert found is not None
    assert found.step == 3  # Behind which the workers have exchanged their gradients.
    assert (
        "Stopped by SIGTERM at step 5, which is not saved: the step after it still waits for data"
        f" and may have changed variables already. The same command goes on from {found.prefix}."
    ) in job.text("worker0")
