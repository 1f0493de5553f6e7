"""Limits of the global step, and of each worker."""

from __future__ import annotations

from typing import Any

import pytest

from moxing.cluster.cluster import Cluster
from moxing.engine.job.placement import ProcessGroup
from moxing.estimator.running.steps import ENDLESS, of_worker, total

THREE = Cluster(("h:1", "h:2", "h:3"), ("h:4",))


@pytest.mark.parametrize(
    ("cluster", "synchronous", "own", "all_together"),
    [
        (None, True, 100, 100),
        (THREE, True, 100, 100),
        (THREE, False, 34, 102),
    ],
)
def test_each_worker_makes_its_part(
    cluster: Any, synchronous: bool, own: int, all_together: int
) -> None:
    group = ProcessGroup(cluster, synchronous=synchronous)
    assert of_worker(100, group) == own
    assert total(100, group) == all_together
    assert total(None, group) >= ENDLESS
