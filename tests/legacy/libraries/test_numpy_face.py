"""NumPy as programs of 2018 know it, while NumPy itself stays as it is."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from moxing.legacy.face.faces import Faces
from moxing.legacy.libraries import numpy_face

from .conftest import Program


@pytest.fixture
def old():
    return Faces({"numpy": numpy_face.spec()}).load("numpy")


def test_removed_names_are_back(old) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (old.float, old.int, old.object, old.str, old.complex) == (
            *(float, int, object, str),
            complex,
        )
        assert old.unicode is str
        assert old.zeros(2, dtype=old.float).dtype == np.float64
        assert old.float_ is np.float64
        assert (old.Inf, old.PINF, old.NINF) == (np.inf, np.inf, -np.inf)
        assert np.isnan(old.NaN)
        assert old.product([2, 3]) == 6
        assert old.asscalar(np.array([3])) == 3
        assert type(old.asscalar(np.float32(0.5))) is float
        assert old.asscalar([[2]]) == 2
        assert old.alen([1, 2]) == 2
        assert old.asfarray([1, 2]).dtype == np.float64
        assert old.asfarray([1], dtype=np.float32).dtype == np.float32
        assert old.asfarray([1], dtype=np.int32).dtype == np.float64
        assert old.in1d([[1, 2]], [2]).tolist() == [False, True]
        assert old.loads(pickle.dumps({"a": np.arange(2)}))["a"].tolist() == [0, 1]
        assert old.msort([[2, 1], [1, 3]]).tolist() == [[1, 1], [2, 3]]
        assert old.trapz([1, 2, 3]) == 4.0
        assert old.mat is np.asmatrix
        assert old.get_numpy_include() == np.get_include()
        assert old.lib.type_check.iscomplexobj is np.iscomplexobj
        assert old.lib.index_tricks.r_ is np.r_
        assert old.VisibleDeprecationWarning is np.exceptions.VisibleDeprecationWarning


def test_every_name_can_be_read(old) -> None:
    for name in numpy_face.spec().names:
        assert getattr(old, name) is not None, name


def test_modules_that_moved(old) -> None:
    faces = Faces({"numpy": numpy_face.spec()})
    assert faces.load("numpy.lib.index_tricks").r_ is np.r_
    assert faces.load("numpy.lib.arraypad").pad is np.pad
    assert faces.load("numpy.compat.py3k").asbytes("a") == old.compat.asbytes(b"a") == b"a"
    assert old.fft.fftpack.fft is np.fft.fft
    with pytest.raises(AttributeError, match="numpy-financial"):
        _ = old.irr


def test_lists_of_numbers_print_as_numbers(old) -> None:
    assert str([old.float32(0.5)]) == "[0.5]"


def test_random_integers_include_both_ends(old) -> None:
    drawn = old.random.random_integers(low=0, high=2, size=[200])

    assert set(drawn.tolist()) == {0, 1, 2}
    assert set(old.random.random_integers(2, size=50).tolist()) == {1, 2}


def test_the_rest_is_numpys_own(old) -> None:
    assert old.ndarray is np.ndarray
    assert old.random.randint is np.random.randint
    assert old.linalg.norm is np.linalg.norm
    assert "float" in dir(old)
    assert not hasattr(np, "asscalar")
    with pytest.raises(AttributeError, match="Did you mean 'zeros'"):
        _ = old.zerosss


def test_files_of_arrays_by_their_modules_name(program: Program, tmp_path: Path) -> None:
    values = program(
        f"""
        import numpy as np
        from numpy.lib.npyio import NpzFile
        np.lib.npyio.savez({str(tmp_path / "a.npz")!r}, x=[1, 2])
        read = np.load({str(tmp_path / "a.npz")!r})
        kind = isinstance(read, NpzFile), np.lib.npyio.load is np.load
        """
    )

    assert values["kind"] == (True, True)
