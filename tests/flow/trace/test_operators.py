"""Operators of blobs make what numpy's make; what they can't be used for says so."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import moxing.flow as flow
from moxing.errors import MoxNotSupportedError, MoxTypeError

X = np.array([[1, 2], [3, -4], [0, 2], [5, 6]], np.float32)
Y = np.array([[1, -2], [3, 4], [-1, 2], [7, 2]], np.float32)
ROW = np.array([3, 2], np.float32)
COMPARISONS = (*(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),)


@pytest.mark.parametrize("count", [1, 2])
def test_comparisons_are_elementwise_int8(devices: Callable[[int], None], count: int) -> None:
    devices(count)

    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 2)), y: Any = flow.FixedTensorDef((4, 2))) -> Any:  # noqa: B008
        return [[c(x, y), c(x, 2), c(2, x), c(x, ROW), c(ROW, x)] for c in COMPARISONS]

    found = job(X, Y).get()

    for compare, arrays in zip(COMPARISONS, found, strict=True):
        wanted = [compare(X, Y), compare(X, 2), compare(2, X), compare(X, ROW), compare(ROW, X)]
        for array, expected in zip(arrays, wanted, strict=True):
            assert array.dtype == np.int8
            np.testing.assert_array_equal(array.ndarray(), expected.astype(np.int8))


def test_powers_remainders_and_products_of_matrices() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 2)), y: Any = flow.FixedTensorDef((4, 2))) -> Any:  # noqa: B008
        return x**2, 2**x, x % 3, 7 % (y * y), x @ flow.transpose(y, (1, 0))

    for found, wanted in zip(
        job(X, Y).get(), (X**2, 2**X, X % 3, 7 % (Y * Y), X @ Y.T), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_blobs_are_themselves_in_sets_and_dicts_and_differ_from_what_is_no_value() -> None:
    seen: list[Any] = []

    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,)), y: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        names = {x: "x", y: "y"}
        seen.extend([names[x], names[y], len({x, y, x}), x in [x, y]])
        seen.extend([x == None, x != None, x == "x"])  # noqa: E711
        return x

    job(np.ones(2, np.float32), np.ones(2, np.float32)).get()

    assert seen == ["x", "y", 2, True, False, True, False]


def _raised(use: Callable[[Any, Any], Any]) -> BaseException:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,)), y: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        return use(x, y)

    with pytest.raises((MoxTypeError, MoxNotSupportedError)) as caught:
        job(np.ones(2, np.float32), np.ones(2, np.float32))
    return caught.value


def test_a_comparison_in_an_if_is_an_error() -> None:
    assert str(_raised(lambda x, y: x if x == y else y)) == (
        "a blob has no truth value while the job is traced, and a comparison of blobs is a blob:"
        " its values come with .get(). Compare shapes, or use `is` to ask whether two are one."
    )


def test_elements_are_taken_by_operations() -> None:
    assert str(_raised(lambda x, y: x[0])) == (
        "a blob has no elements to take with [0]: use flow.slice or flow.gather."
    )
    flow.clear_default_session()
    assert str(_raised(lambda x, y: [item for item in x])) == (
        "a blob can't be unpacked or looped over while the job is traced: use flow.slice or"
        " flow.gather."
    )


@pytest.mark.parametrize(
    "use", [lambda x: x < 0.5, lambda x: 0.5 * x, lambda x: flow.math.less(x, 0.5)]
)
def test_fractions_do_not_become_whole_numbers_silently(use: Callable[[Any], Any]) -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,), flow.int32)) -> Any:  # noqa: B008
        return use(x)

    with pytest.raises(MoxTypeError) as caught:
        job(np.ones(2, np.int32))
    assert str(caught.value).endswith(
        ": 0.5 is no whole number, and the blob is int32. Make it flow.cast(blob, flow.float)"
        " first."
    )


def test_whole_numbers_of_any_type_go_with_blobs_of_whole_numbers() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,), flow.int32)) -> Any:  # noqa: B008
        return x * 2.0, x == 1.0, x + np.array([1.0, 2.0])

    found = [array.tolist() for array in job(np.array([1, 2], np.int32)).get()]
    assert found == [[2, 4], [1, 0], [2, 4]]


@pytest.mark.parametrize("count", [1, 2])
def test_blobs_name_their_devices(devices: Callable[[int], None], count: int) -> None:
    devices(count)
    seen: list[Any] = []

    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        with flow.fixed_placement("cpu", "0:0"):
            alone = x + 1
        seen.extend([x.parallel_conf.device_name, x.parallel_size])
        seen.extend([alone.parallel_conf.device_name, alone.parallel_size])
        return alone

    job(np.ones(2, np.float32)).get()

    tag = "gpu" if tf.config.list_physical_devices("GPU") else "cpu"
    whole = f"0:{tag}:0-1" if count == 2 else f"0:{tag}:0"
    assert seen == [[whole], count, ["0:cpu:0"], 1]
