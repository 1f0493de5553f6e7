"""The difference of two checkpoints, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from moxing.runs.checkpoints import difference
from moxing.runs.checkpoints.source import Values


def _values(**arrays: np.ndarray) -> Values:
    return Values("path", arrays, None)


def test_variables_are_sorted_out() -> None:
    before = np.asarray([3.0, 4.0], np.float32)
    one = _values(a=before, b=before, old=before, shaped=before, text=np.asarray([b"x"], object))
    two = _values(
        a=before,
        b=before + np.asarray([0.0, 1.0], np.float32),
        new=before,
        shaped=before[:1],
        text=np.asarray([b"y"], object),
    )

    found = difference.compare(one, two)

    assert (found.only_first, found.only_second, found.equal) == (("old",), ("new",), 1)
    by_name = {change.name: change for change in found.changed}
    assert set(by_name) == {"b", "shaped", "text"}
    assert (by_name["b"].norm, by_name["b"].largest) == (1.0, 1.0)
    assert by_name["b"].relative == pytest.approx(0.2)
    assert by_name["shaped"].shapes == "float32 [2] -> float32 [1]"
    assert by_name["text"].norm is None


def test_the_largest_change_comes_first_and_broken_values_before_it() -> None:
    ones = np.ones([4], np.float32)
    nan = ones.copy()
    nan[1] = np.nan
    one = _values(little=ones, broken=ones, much=ones)
    two = _values(little=ones * 1.01, broken=nan, much=ones * 3)

    found = difference.compare(one, two)

    assert [change.name for change in found.changed] == ["broken", "much", "little"]
    assert found.changed[0].not_finite == 1


def test_nan_is_equal_to_itself_and_zero_to_no_other_sign() -> None:
    nan = np.asarray([np.nan, 0.0], np.float32)

    assert difference.compare(_values(a=nan), _values(a=nan.copy())).changed == ()
    assert len(difference.compare(_values(a=nan), _values(a=nan * [1.0, -1.0])).changed) == 1


def test_lines_say_how_many_they_leave_out() -> None:
    one = _values(**{f"v{n}": np.zeros([1]) for n in range(5)})
    two = _values(**{f"v{n}": np.ones([1]) for n in range(5)})

    lines = list(difference.lines(difference.compare(one, two), most=2))

    assert lines[2] == "  ... and 3 more"
    assert lines[-1].startswith("5 variables differ, 0 are equal")
    assert len(list(difference.lines(difference.compare(one, two)))) == 6
