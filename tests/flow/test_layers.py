"""Layers with variables of their own: their names, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxValueError
from moxing.flow import session

IMAGE = np.arange(2 * 2 * 4 * 4, dtype=np.float32).reshape(2, 2, 4, 4)
ONES = flow.ones_initializer()


def _names() -> list[str]:
    return sorted(session.default().variables.by_name)


@pytest.mark.parametrize("count", [1, 2])
def test_layers_without_names_get_names_of_their_own(
    devices: Callable[[int], None], count: int
) -> None:
    devices(count)

    @flow.function
    def job(x: Any = flow.FixedTensorDef(IMAGE.shape)) -> Any:  # noqa: B008
        y = flow.layers.conv2d(x, 3, 2, kernel_initializer=ONES)
        z = flow.layers.conv2d(x, 1, 2, kernel_initializer=ONES)
        rows = flow.reshape(flow.concat([y, z], 1), (2, -1))
        with flow.deprecated.variable_scope("a"):
            first = flow.layers.dense(rows, 2, kernel_initializer=ONES)
        rest = [flow.layers.dense(rows, units, kernel_initializer=ONES) for units in (2, 1)]
        return [first, *rest]

    flow.train.CheckPoint().init()
    found = job(IMAGE).get()

    assert _names() == [
        f"{name}-{end}"
        for name in ("a-dense_0", "conv2d_0", "conv2d_1", "dense_0", "dense_1")
        for end in ("bias", "weight")
    ]
    windows = sum(IMAGE[:, :, i : i + 3, j : j + 3] for i in (0, 1) for j in (0, 1)).sum((1, 2, 3))
    wanted = 4 * windows[:, None]
    for array, units in zip(found, (2, 2, 1), strict=True):
        np.testing.assert_allclose(array, np.repeat(wanted, units, 1))


def test_a_name_may_still_not_be_given_twice() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2, 3))) -> Any:  # noqa: B008
        flow.layers.dense(x, 2, name="fc")
        return flow.layers.dense(x, 2, name="fc")

    with pytest.raises(MoxValueError, match="job job has two operations named 'fc'"):
        flow.train.CheckPoint().init()
