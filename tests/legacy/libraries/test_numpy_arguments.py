"""Arguments, defaults and results of NumPy's functions as they were in 2018."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moxing.legacy.libraries import numpy_arguments as old
from moxing.legacy.libraries import numpy_types as types


def test_old_arguments() -> None:
    assert old.percentile([1, 2, 4], 50, interpolation="nearest") == 2
    assert old.quantile([1, 2], 0.75, interpolation="lower") == 1
    assert old.nanpercentile([1, np.nan, 3], 50, interpolation="higher") == 3
    counts = old.histogram2d([1, 2], [1, 2], 2, normed=True)[0]
    assert counts.sum() * 0.25 == pytest.approx(1)
    assert old.array2string(np.zeros(2), style=repr) == "[0. 0.]"
    assert old.logspace(0, 1, 2.0).tolist() == [1, 10]


@pytest.mark.parametrize("threshold", [np.nan, "nan"])
def test_all_elements_are_printed(threshold: Any) -> None:
    before = np.get_printoptions()
    old.set_printoptions(threshold=threshold)
    try:
        assert np.get_printoptions()["threshold"] == sys.maxsize
        assert "..." not in str(np.zeros(2000))
    finally:
        np.set_printoptions(**before)


def test_ragged_lists_are_saved_and_chosen_from(tmp_path: Path) -> None:
    old.save(tmp_path / "x.npy", [[1], [1, 2]], fix_imports=True)
    old.savez(tmp_path / "x.npz", np.arange(2), a=[[1], [1, 2]])

    assert np.load(tmp_path / "x.npy", allow_pickle=True)[1] == [1, 2]
    found = np.load(tmp_path / "x.npz", allow_pickle=True)
    assert (found["a"][0], found["arr_0"].tolist()) == ([1], [0, 1])
    assert old.choice([[1], [1, 2]]) in ([1], [1, 2])
    assert sorted(old.permutation([[1], [1, 2]]).tolist()) == [[1], [1, 2]]


def test_results() -> None:
    assert old.sum(x for x in [1, 2]) == 3
    assert old.sum([[1, 2], [3, 4]], axis=0).tolist() == [4, 6]
    values, first, inverse, counts = old.unique([[1, 2], [1, 2]], True, True, True)
    assert (values.tolist(), first.tolist()) == ([1, 2], [0, 1])
    assert (inverse.tolist(), counts.tolist()) == ([0, 1, 0, 1], [2, 2])
    assert old.unique([2, 1, 2]).tolist() == [1, 2]
    assert [old.expand_dims(np.zeros((2, 3)), axis).shape for axis in (0, -1, 3, 9)] == [
        *((1, 2, 3), (2, 3, 1), (2, 3, 1), (2, 3, 1)),
    ]
    assert (old.nonzero(3)[0].tolist(), old.where(False)[0].tolist()) == ([0], [])
    assert old.where([0, 1])[0].tolist() == [1]
    assert old.where([True, False], 1, 2).tolist() == [1, 2]


def test_equations() -> None:
    two = np.stack([np.eye(2), 2 * np.eye(2)])
    assert old.solve(two, np.ones((2, 2))).tolist() == [[1, 1], [0.5, 0.5]]
    assert old.solve(np.eye(2), [1, 2]).tolist() == [1, 2]
    nearly_singular = np.diag([1, 3e-16])
    assert old.lstsq(nearly_singular, [1, 1])[2] == 2
    assert old.lstsq(nearly_singular, [1, 1], rcond=None)[2] == 1


def test_records_and_messages() -> None:
    assert old.recfromcsv(io.StringIO("A,b\n1,2\n3,4")).a.tolist() == [1, 3]
    assert old.recfromtxt(io.StringIO("1 2.5\n3 4")).f1.tolist() == [2.5, 4]
    out = io.StringIO()
    old.disp("x", out, linefeed=False)
    assert out.getvalue() == "x"


def test_types() -> None:
    assert types.obj2sctype("f4") is types.obj2sctype(np.zeros(1, np.float32)) is np.float32
    assert types.obj2sctype("nonsense", 3) == 3
    assert (types.sctype2char(np.float32), types.sctype2char("i4")) == ("f", "i")
    with pytest.raises(ValueError, match="unrecognized"):
        types.sctype2char("nonsense")
    assert (types.issctype(np.int8), types.issctype(3), types.issctype(object)) == (
        *(True, False),
        False,
    )
    assert types.issubsctype(np.float32, np.floating)
    assert types.maximum_sctype(np.int8) is np.int64
    assert types.maximum_sctype("f4") is np.longdouble
    assert types.nbytes[np.float32] == 4
    assert types.cast["float32"]([1]).dtype == np.float32
    assert types.cast[np.int8](300 * np.ones(1)).dtype == np.int8
    assert (types.can_cast(3, np.int8), types.can_cast(300, np.int8)) == (True, False)
    assert types.can_cast(np.int8, np.int16)
    # The examples of NumPy's documentation.
    assert [types.can_cast(n, "i1") for n in (100, 150)] == [True, False]
    assert [types.can_cast(n, "u1") for n in (-100, 150)] == [False, True]
    assert [types.can_cast(x, "f4") for x in (3.5e100, 1000.0)] == [False, True]
