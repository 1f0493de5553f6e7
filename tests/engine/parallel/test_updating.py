"""Clipped and accumulated gradients of several processes are those of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import Job, assert_equal, weights

pytestmark = pytest.mark.slow


def trained(folder: Path, shares: int, workers: int, *flags: str) -> dict[str, np.ndarray]:
    """The weights after six steps of 24 samples in all."""
    plan: dict[str, Any] = {"log_dir": str(folder / "log"), "batch": 24, "shares": shares}
    job = Job(folder, {**plan, "steps": 6, "runs": ["classifier/momentum"]}, workers, 0, *flags)
    assert set(job.codes().values()) == {0}, job.text("worker0")[-3000:]
    return weights(folder / "log" / "classifier" / "momentum")


def test_two_processes_of_two_devices_equal_one_large_batch(tmp_path: Path) -> None:
    """Whether gradients are added on the first device and sent on, or meet in one group."""
    limit = "--gradient_clip_norm=0.2"
    large = trained(tmp_path / "large", 1, 1, limit)
    free = trained(tmp_path / "free", 1, 1)
    assert not np.allclose(free["dense/kernel"], large["dense/kernel"], atol=1e-3)
    for update in ("distributed_replicated", "collective"):
        many = ("--num_gpus=2", "--accumulate_steps=3", f"--variable_update={update}")
        assert_equal(trained(tmp_path / update, 12, 2, limit, *many), large)
