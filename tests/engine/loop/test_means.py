"""Means count every sample once, whatever the batch sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moxing.engine.loop.means import Means


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50), st.integers(1, 60))
def test_the_mean_does_not_depend_on_the_batch_size(samples: list[float], size: int) -> None:
    means = Means()
    for start in range(0, len(samples), size):
        batch = samples[start : start + size]
        means.add({"loss": np.float64(np.mean(batch))}, len(batch))
    assert means.samples == len(samples)
    assert means.batches == math.ceil(len(samples) / size)
    assert means.result()["loss"] == pytest.approx(np.mean(samples), abs=1e-9)


def test_batches_of_unknown_size_count_the_same() -> None:
    means = Means()
    means.add({"a": 1.0, "b": 4.0}, 10)
    means.add({"a": 3.0, "b": 0.0}, None)
    means.add({"a": math.nan, "b": math.nan}, 0)
    assert (means.samples, means.batches) == (None, 3)
    assert means.result() == {"a": 2.0, "b": 2.0}


def test_an_empty_batch_has_no_mean() -> None:
    means = Means()
    means.add({"a": math.nan}, 0)
    assert means.result() == {}
    means.add({"a": 2.0}, 5)
    assert means.result() == {"a": 2.0}
    assert means.samples == 5


def test_what_is_not_finite_shows() -> None:
    means = Means()
    for value in (1.0, math.nan):
        means.add({"a": value, "b": math.inf}, 5)
    assert math.isnan(means.result()["a"])
    assert means.result()["b"] == math.inf


def test_nothing_was_added() -> None:
    assert Means().result() == {}
    assert Means().samples == 0
