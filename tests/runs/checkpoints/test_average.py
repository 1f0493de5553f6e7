"""The mean of checkpoints, against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from moxing.errors import CheckpointError, MoxValueError
from moxing.runs.checkpoints.average import average
from moxing.runs.checkpoints.source import Values


def _values(step: int, w: Any, **others: Any) -> Values:
    arrays = {"w": np.asarray(w), "global_step": np.asarray(step, np.int64), **others}
    return Values(f"model.ckpt-{step}", arrays, step)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_means_keep_their_types(dtype: Any) -> None:
    numbers = np.random.default_rng(3).normal(size=(3, 5)).astype(dtype)

    mean = average([_values(step, row) for step, row in enumerate(numbers)])

    wanted = (numbers.astype(np.float64).sum(0) / 3).astype(dtype)
    assert mean.arrays["w"].dtype == dtype
    np.testing.assert_array_equal(mean.arrays["w"], wanted)


def test_whole_numbers_and_text_are_those_of_the_newest() -> None:
    text = [np.asarray([word], object) for word in (b"a", b"b")]

    mean = average([_values(20, 1.0, t=text[1]), _values(10, 3.0, t=text[0])])

    assert mean.step == 20
    assert mean.arrays["global_step"] == 20
    assert mean.arrays["t"][0] == b"b"
    assert mean.arrays["w"] == 2.0


def test_other_models_are_refused() -> None:
    with pytest.raises(MoxValueError, match="two checkpoints or more"):
        average([_values(1, 1.0)])
    with pytest.raises(CheckpointError, match="don't have the same variables: b"):
        average([_values(1, 1.0), _values(2, 1.0, b=np.zeros(1))])
    with pytest.raises(CheckpointError, match=r"float64 \[2\] in model.ckpt-2 and .* \[\] in"):
        average([_values(1, 1.0), _values(2, [1.0, 2.0])])
