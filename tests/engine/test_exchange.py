"""Optimizers that meet the other workers by themselves, against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import Job, weights

pytestmark = pytest.mark.slow
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


def trained(folder: Path, optimizer: str, devices: int, *flags: str) -> dict[str, np.ndarray]:
    """The weights that two workers end with, which are equal on both at every step."""
    plan = {"log_dir": str(folder / "log"), "batch": BATCH, "shares": 1, "steps": STEPS}
    runs = [f"slopes/{optimizer}"]
    job = Job(folder, {**plan, "runs": runs}, 2, 0, f"--num_gpus={devices}", *flags)
    assert set(job.codes().values()) == {0}, job.text("worker0")[-3000:]
    seen = [job.told(worker)[0]["outputs"] for worker in ("worker0", "worker1")]
    assert len(seen[0]) == STEPS * devices
    assert seen[0] == seen[1]
    return weights(folder / "log" / runs[0])


def compressed(devices: int, momentum: float) -> np.ndarray:
    """Deep gradient compression, arXiv:1712.01887, appendix B, of two workers."""
    size = 48
    moved, u, v = np.zeros(size), np.zeros((2, size)), np.zeros((2, size))
    for step in range(STEPS):
        kept = 20 if step < 4 else 4  # Of the 40 of the matrix; the vector goes whole.
        for worker in range(2):
            u[worker] = momentum * u[worker] + gradient(worker, step, devices)
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
    check_compressed(trained(tmp_path, "dgc", 2, *flags), 2)


def check_compressed(found: dict[str, np.ndarray], devices: int) -> None:
    moved: Any = compressed(devices, 0.8)
    np.testing.assert_allclose(found["matrix"].ravel(), moved[:40], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["vector"], moved[40:], rtol=1e-4, atol=1e-5)
    assert not [name for name in found if "replica" in name]
