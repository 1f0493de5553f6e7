"""Optimizers that meet the other workers by themselves, against numpy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import Job, weights

pytestmark = pytest.mark.slow
KINDS = ["batched", "batched_apart", "elastic"]
BATCH, STEPS, RATE = 6, 12, 0.1  # Samples of a device.
FACTORS = np.array([1.0, -2.0, 0.5, 3.0, 0.25])


def features() -> np.ndarray:
    """The data of together.py."""
    return np.random.RandomState(0).randn(400, 8).astype(np.float32)


def gradient(worker: int, step: int, devices: int) -> np.ndarray:
    """The mean gradient of `slopes` over a worker's devices: of the matrix, then of the vector."""
    count = BATCH * devices
    numbers = (worker + 2 * np.arange(step * count, (step + 1) * count)) % 400
    mean = features()[numbers].mean(0)
    return np.concatenate([np.outer(mean, FACTORS).ravel(), mean])


def together(folder: Path, optimizers: list[str], devices: int, *flags: str) -> Job:
    """Two workers that have trained `slopes` with each of the optimizers."""
    plan = {"log_dir": str(folder / "log"), "batch": BATCH, "shares": 1, "steps": STEPS}
    plan["save_steps"] = 2
    runs = [f"slopes/{optimizer}" for optimizer in optimizers]
    job = Job(folder, {**plan, "runs": runs}, 2, 0, f"--num_gpus={devices}", *flags)
    assert set(job.codes().values()) == {0}, job.text("worker0")[-3000:]
    return job


def seen(job: Job, run: int) -> list[np.ndarray]:
    """For each worker its weights before each step, on its first device: [steps, 48]."""
    found = []
    for worker in ("worker0", "worker1"):
        outputs = job.told(worker)[run]["outputs"]
        first = outputs[:: len(outputs) // STEPS]
        flat = [[*np.ravel(one["matrix"]), *one["vector"]] for one in first]
        found.append(np.array(flat))
    return found


def trained(folder: Path, optimizer: str, devices: int, *flags: str) -> dict[str, np.ndarray]:
    """The weights that two workers end with, which are equal on both at every step."""
    job = together(folder, [optimizer], devices, *flags)
    first, second = seen(job, 0)
    assert first.shape == (STEPS, 48)
    assert first.tobytes() == second.tobytes()
    return weights(folder / "log" / f"slopes/{optimizer}")


def compressed(devices: int, momentum: float, settled: int | None = None) -> np.ndarray:
    """Deep gradient compression, arXiv:1712.01887, appendix B, of two workers.

    They have settled, before the step of that number, on the mean of what waits.
    """
    size = 48
    moved, u, v = np.zeros(size), np.zeros((2, size)), np.zeros((2, size))
    for step in range(STEPS):
        kept = 20 if step < 4 else 4  # Of the 40 of the matrix; the vector goes whole.
        if step == settled:
            u[:], v[:] = u.mean(0), v.mean(0)
        for worker in range(2):
            slope = gradient(worker, step, devices)
            u[worker] = momentum * u[worker] + slope
            v[worker] += u[worker]
            mask = np.abs(v[worker]) >= np.sort(np.abs(v[worker, :40]))[-kept]
            mask[40:] = True
            moved += RATE * np.where(mask, v[worker], 0) / 2
            v[worker, mask] = 0
            mask[40:] = False
            u[worker, mask] = 0
    return -moved


def test_workers_exchange_compressed_gradients(tmp_path: Path) -> None:
    flags = [
        *("--variable_update=distributed_replicated_dgc", "--dgc_sparsity_strategy=0.5,0.9"),
        *(f"--dgc_total_samples={4 * 2 * BATCH}", "--dgc_momentum=0.8"),
    ]
    check_compressed(trained(tmp_path, "sgd", 1, *flags), 1)


def test_copies_on_several_devices_are_updated_alike(tmp_path: Path) -> None:
    flags = ["--variable_update=distributed_replicated"]
    job = together(tmp_path, ["dgc", "dgc.again@6", "dgc.again"], 2, *flags)
    first, second = seen(job, 0)
    assert first.tobytes() == second.tobytes()
    check_compressed(weights(tmp_path / "log" / "slopes" / "dgc"), 2)
    check_compressed(weights(tmp_path / "log" / "slopes" / "dgc.again"), 2, settled=6)


def check_compressed(
    found: dict[str, np.ndarray], devices: int, settled: int | None = None
) -> None:
    moved: Any = compressed(devices, 0.8, settled)
    np.testing.assert_allclose(found["matrix"].ravel(), moved[:40], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["vector"], moved[40:], rtol=1e-4, atol=1e-5)
    assert not [name for name in found if "replica" in name]


def test_gradients_of_16_bits_meet_on_weights_of_32(tmp_path: Path) -> None:
    found = trained(tmp_path, "sgd", 1, "--compress_gradients")
    exact, rounded = np.zeros(48), np.zeros(48, np.float32)
    for step in range(STEPS):
        halves = [gradient(worker, step, 1) / 2 for worker in range(2)]
        exact -= RATE * np.sum(halves, 0)
        rounded -= np.float32(RATE) * sum(np.float16(half) for half in halves).astype(np.float32)
    moved = np.concatenate([found["matrix"].ravel(), found["vector"]])
    np.testing.assert_allclose(moved, rounded, rtol=0, atol=3e-4)  # A last bit may round away.
    np.testing.assert_allclose(moved, exact, rtol=0, atol=2e-3)
    assert not np.allclose(moved, exact, rtol=0, atol=1e-5)


def elastic() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Elastic averaging, arXiv:1412.6651, equations 5 and 6 with beta = p alpha, every other step.

    Returns the weights before each step of both workers [2, steps, 48], and then the last weights
    of the first and the center.
    """
    own, center = np.zeros((2, 48)), np.zeros(48)
    found = []
    for step in range(STEPS):
        found.append(own.copy())
        slope = np.stack([gradient(worker, step, 1) for worker in range(2)])
        if step % 2 == 0:
            pull = 0.25 * (own - center)
            center = center + 2 * 0.25 * (own.mean(0) - center)
            own = own - pull
        own = own - RATE * slope
    return np.stack(found, 1), own[0], center


@pytest.fixture(scope="module")
def rarely(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, Path]:
    """Runs of optimizers that meet rarely."""
    folder = tmp_path_factory.mktemp("rarely")
    return together(folder, [*KINDS, "batched.again@4", "batched.again"], 1), folder / "log"


def batched() -> np.ndarray:
    """The weights before each step, and at the end, of updates with means of three steps."""
    found = [np.zeros(48)]
    for at in range(0, STEPS, 3):
        last = [gradient(w, s, 1) for w in range(2) for s in range(at, at + 3)]
        found += [found[-1], found[-1], found[-1] - RATE * np.mean(last, 0)]
    return np.array(found)


def test_workers_meet_only_where_they_apply(rarely: tuple[Job, Path]) -> None:
    job, log = rarely
    first, second = seen(job, 0)
    assert first.tobytes() == second.tobytes()
    np.testing.assert_allclose(first, batched()[:-1], rtol=1e-4, atol=1e-5)
    found = weights(log / "slopes" / "batched")
    np.testing.assert_allclose(found["vector"], batched()[-1][40:], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found["vector/batch_gradients"], np.zeros(8))
    apart = weights(log / "slopes" / "batched_apart")
    np.testing.assert_allclose(found["matrix"], apart["matrix"], rtol=1e-5, atol=1e-6)


def test_workers_that_stop_between_two_updates_lose_nothing(rarely: tuple[Job, Path]) -> None:
    _, log = rarely
    again = weights(log / "slopes" / "batched.again")
    last = batched()[-1]  # The data goes on at its place, too.
    np.testing.assert_allclose(again["matrix"].ravel(), last[:40], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(again["vector"], last[40:], rtol=1e-4, atol=1e-5)


def test_saves_wait_until_no_worker_has_sums(rarely: tuple[Job, Path]) -> None:
    job, _ = rarely
    saved = re.findall(
        r"Saving checkpoints for (\d+) into .*/slopes/([a-z._]+)/", job.text("worker0")
    )
    of_each = {
        name: [int(s) for s, n in saved if n == name]
        for name in ("batched", "elastic", "batched.again")
    }
    assert of_each["batched"] == [0, 3, 6, 9, 12]
    assert of_each["elastic"] == [0, 2, 4, 6, 8, 10, 12]
    assert of_each["batched.again"] == [0, 3, 4, 6, 9, 12]


def test_elastic_workers_go_their_own_way_around_one_center(rarely: tuple[Job, Path]) -> None:
    job, log = rarely
    both, last, center = elastic()
    for of_worker, wanted in zip(seen(job, 2), both, strict=True):
        np.testing.assert_allclose(of_worker, wanted, rtol=1e-4, atol=1e-5)
    found = weights(log / "slopes" / "elastic")
    np.testing.assert_allclose(found["matrix"].ravel(), last[:40], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["matrix/easgd"].ravel(), center[:40], rtol=1e-4, atol=1e-5)
    assert not np.allclose(both[0, -1], both[1, -1], atol=1e-3)
