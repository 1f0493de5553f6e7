"""Functions of NumPy as its documentation of 2018 has them."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from moxing.errors import MoxValueError
from moxing.legacy.libraries import arrays


def test_arrays() -> None:
    data = np.arange(3)
    assert arrays.array(data, copy=False) is data
    assert arrays.array(data) is not data
    assert arrays.array([1, 2], np.float32, copy=False).tolist() == [1.0, 2.0]
    ragged = arrays.array([[1], [1, 2]])
    assert (ragged.dtype, ragged.shape, ragged[1]) == (np.dtype(object), (2,), [1, 2])
    assert arrays.asarray([[1], [1, 2]]).dtype == object
    assert arrays.array([-1, 256], dtype=np.uint8).tolist() == [255, 0]
    assert arrays.full(2, -1, np.uint8).tolist() == [255, 255]
    assert arrays.array([[1, 2]], ndmin=3).shape == (1, 1, 2)
    assert arrays.asanyarray([[1], [1, 2]]).shape == (2,)
    assert arrays.full_like(np.zeros(2, np.uint8), -1).tolist() == [255, 255]
    with pytest.raises(ValueError, match="inhomogeneous"):
        arrays.array([[1], [1, 2]], dtype=float)


def test_bytes_as_numbers() -> None:
    found = arrays.fromstring(b"\x01\x02\x00\x03", np.uint8)
    assert found.tolist() == [1, 2, 0, 3]
    assert found.flags.writeable
    assert arrays.fromstring(b"\x01\x00\x02\x00", np.int16, count=1).tolist() == [1]
    assert arrays.fromstring("1 2", dtype=int, sep=" ").tolist() == [1, 2]
    assert arrays.fromstring("\x01\x02", dtype=np.uint8).tolist() == [1, 2]
    with pytest.raises(ValueError, match="multiple of element size"):
        arrays.fromstring(b"abc", np.int16)


def test_old_arguments() -> None:
    assert arrays.reshape([1, 2], newshape=(2, 1)).shape == (2, 1)
    assert arrays.reshape([1, 2], (2, 1)).shape == (2, 1)
    assert arrays.reshape([1, 2], shape=(2, 1)).shape == (2, 1)
    assert arrays.unravel_index(3, dims=(2, 2)) == (1, 1)
    assert arrays.linspace(0, 1, 3.0).tolist() == [0.0, 0.5, 1.0]
    counts, _ = arrays.histogram([1, 2, 2], bins=2, normed=True)
    assert counts.tolist() == np.histogram([1, 2, 2], bins=2, density=True)[0].tolist()
    with pytest.raises(ValueError, match="Use density=True"):
        arrays.histogram([1, 2, 2], bins=[0, 1, 5], normed=True)
    assert arrays.vstack(map(np.array, [[1], [2]])).tolist() == [[1], [2]]
    assert arrays.stack((np.zeros(2) for _ in range(3)), axis=1).shape == (2, 3)
    assert arrays.hstack([[1], [2]]).tolist() == [1, 2]
    assert arrays.rank([[1, 2]]) == 2


@pytest.mark.parametrize(
    ("array_types", "scalar_types", "expected"),
    [  # The examples of NumPy's documentation.
        ([], [np.int64, np.float32, complex], np.complex128),
        ([np.int64, np.float32], [], np.float64),
        ([np.float32], [np.int64, np.float64], np.float32),
        ([np.float32], [complex], np.complex128),
        (["f4", "f4", "i4"], ["c8"], np.complex128),
    ],
)
def test_common_types(array_types: list, scalar_types: list, expected: type) -> None:
    assert arrays.find_common_type(array_types, scalar_types) == np.dtype(expected)


def test_files_of_plain_objects_are_read_as_before_1_16_3(tmp_path: Path) -> None:
    weights = {"conv": [np.ones((2, 2), np.float32), np.zeros(2)]}
    np.save(tmp_path / "x.npy", np.array(weights, object), allow_pickle=True)
    ragged = np.array([[[1], [2, 3]], [[], [4]]], object)
    np.savez(tmp_path / "x.npz", a=ragged, b=np.arange(2))
    (tmp_path / "x.pkl").write_bytes(pickle.dumps([1, b"a"], 2))

    for file in (tmp_path / "x.npy", str(tmp_path / "x.npy"), _behind(tmp_path / "x.npy")):
        found = arrays.load(file, encoding="latin1").item()
        np.testing.assert_equal(found, weights)
    with arrays.load(tmp_path / "x.npz") as found:
        assert isinstance(found, np.lib.npyio.NpzFile)
        assert found["a"].tolist() == found.f.a.tolist() == ragged.tolist()
        assert found["b"].tolist() == [0, 1]
    assert arrays.load(tmp_path / "x.pkl", encoding="latin1") == [1, b"a"]


def _behind(path: Path) -> io.BytesIO:
    """An open file, some bytes behind its start."""
    file = io.BytesIO(b"head" + path.read_bytes())
    file.seek(4)
    return file


def test_files_of_other_objects_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([Path("a")], object), allow_pickle=True)
    np.savez(tmp_path / "x.npz", a=np.array([Path("a")], object))
    np.save(tmp_path / "y.npy", np.arange(2))

    message = r"x\.npy'\): the file holds .* names pathlib\.\w+\. NumPy .*=True\)\."
    with pytest.raises(MoxValueError, match=message):
        arrays.load(tmp_path / "x.npy")
    with pytest.raises(MoxValueError, match="the file holds Python objects"):
        arrays.load(io.BytesIO((tmp_path / "x.npy").read_bytes()))
    with pytest.raises(MoxValueError, match=r"x\.npz, a'\): the file holds"):
        arrays.load(tmp_path / "x.npz")["a"]
    assert arrays.load(tmp_path / "x.npy", allow_pickle=True)[0] == Path("a")
    assert arrays.load(tmp_path / "x.npz", allow_pickle=True)["a"][0] == Path("a")
    assert arrays.load(str(tmp_path / "y.npy")).tolist() == [0, 1]


def test_converters_of_texts_get_bytes() -> None:
    text = "1 a\n2 b"
    kinds = {b"a": 3, b"b": 4}

    for read in (arrays.loadtxt, arrays.genfromtxt):
        found = read(io.StringIO(text), converters={1: lambda s: kinds[s]})
        assert [list(row) for row in found] == [[1, 3], [2, 4]]
        assert read(io.StringIO(text), dtype=str).tolist() == [["1", "a"], ["2", "b"]]
    assert arrays.genfromtxt(io.StringIO(text), dtype=None)[0].tolist() == (1, b"a")
    plain = arrays.genfromtxt(io.StringIO(text), dtype=None, encoding="utf-8")
    assert plain[0].tolist() == (1, "a")
