"""Whatever kills a task of a job, the others end and say why, and started again the job goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from clusters import assert_equal
from faults import Fault, Lasting, Shape
from gang import Nursery

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
STEPS = 36
ASYNC_STEPS = 500  # Of each worker.
SHAPES = {
    "collective": Shape(2),
    "ps": Shape(2, 1, ("--variable_update=parameter_server",)),
    "async": Shape(2, 1, ("--sync_replicas=false",)),
}
KINDS = {
    "collective": (
        *(
            ("worker 1", "kill"),
            ("worker 0", "kill"),
            ("worker 0", "saving"),
            ("worker 1", "raise"),
        ),
        *(("worker 1", "term"), ("worker 0", "full"), ("worker 0", "stop")),
    ),
    "ps": (
        *(("ps 0", "kill"), ("worker 1", "kill"), ("worker 0", "kill"), ("ps 0", "term")),
        *(("worker 0", "saving"), ("ps 0", "stop"), ("worker 1", "term all")),
        *(("worker 1", "raise"),),
    ),
    "async": (
        *(("ps 0", "kill"), ("worker 1", "kill"), ("worker 0", "kill"), ("worker 1", "term all")),
        *(("worker 0", "saving"),),
    ),
}


def schedule(name: str) -> list[Fault]:
    """Each fault a few steps after the one before, now right behind a save, now between two."""
    return [Fault(task, 4 * (n + 1), kind) for n, (task, kind) in enumerate(KINDS[name])]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    started = Nursery()
    yield started
    started.close()


@pytest.fixture(scope="module")
def undisturbed(
    nursery: Nursery, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, np.ndarray]:
    """What a job learns that nothing happens to."""
    job = Lasting(nursery, tmp_path_factory.mktemp("undisturbed"), Shape(2), [], STEPS)
    job.run()
    return job.weights()


def test_the_schedules_hold_every_kind_of_fault_and_of_task() -> None:
    for name, shape in SHAPES.items():
        faults = schedule(name)
        assert {fault.task for fault in faults if fault.kind == "kill"} == {*shape.tasks}
        assert "saving" in {fault.kind for fault in faults}
    kinds = {kind for faults in KINDS.values() for _, kind in faults}
    assert kinds == {"kill", "saving", "stop", "term", "term all", "raise", "full"}


@pytest.mark.parametrize("name", ["collective", "ps"])
def test_a_synchronous_job_learns_the_same_whatever_happens(
    nursery: Nursery, tmp_path: Path, undisturbed: dict[str, np.ndarray], name: str
) -> None:
    job = Lasting(nursery, tmp_path, SHAPES[name], schedule(name), STEPS)
    job.run()
    assert [fault for fault, _ in job.happened] == schedule(name)
    assert_equal(undisturbed, job.weights())


def test_an_asynchronous_job_does_all_its_steps_whatever_happens(
    nursery: Nursery, tmp_path: Path
) -> None:
    job = Lasting(nursery, tmp_path, SHAPES["async"], schedule("async"), ASYNC_STEPS)
    job.run()
    assert [fault for fault, _ in job.happened] == schedule("async")
    assert int(job.weights()["global_step"]) >= 2 * ASYNC_STEPS
