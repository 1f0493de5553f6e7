"""Rows of an HDF5 file in the place of an array."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.errors import MoxValueError
from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.keras.older.h5_matrix import HDF5Matrix


@pytest.fixture
def path(tmp_path: Path) -> str:
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x"] = np.arange(20.0, dtype=np.float32).reshape(10, 2)
        file["y"] = np.arange(10.0, dtype=np.float32) * 4 + 1
    return str(tmp_path / "data.h5")


def test_rows_are_read_by_number_by_range_and_by_list(path: str) -> None:
    rows = HDF5Matrix(path, "x", start=2, end=8)
    assert (len(rows), rows.shape, rows.ndim, rows.size) == (6, (6, 2), 2, 12)
    assert rows.dtype == np.float32
    assert rows[0].tolist() == [4, 5]
    assert rows[-1].tolist() == [14, 15]
    assert rows[1:3].tolist() == [[6, 7], [8, 9]]
    assert rows[4:100].shape == (2, 2)
    assert rows[[5, 0, 5]].tolist() == [[14, 15], [4, 5], [14, 15]]
    assert rows[np.array([1, 0])].tolist() == [[6, 7], [4, 5]]
    for behind in (6, [0, 6], -7):
        with pytest.raises(IndexError, match="outside of the 6 rows"):
            rows[behind]


def test_a_normalizer_changes_what_is_read(path: str) -> None:
    rows = HDF5Matrix(path, "x", normalizer=lambda x: (x / 2).astype(np.float64)[..., :1])
    assert (rows.shape, rows.dtype) == ((10, 1), np.float64)
    assert rows[1:3].tolist() == [[1], [2]]


def test_a_data_set_that_is_missing_is_named_with_those_that_are_there(path: str) -> None:
    with pytest.raises(MoxValueError, match=r"data.h5 has no data set 'z'; it has x, y\."):
        HDF5Matrix(path, "z")


@pytest.mark.parametrize("shuffle", ["batch", False])
def test_a_model_trains_on_the_rows(path: str, shuffle: str | bool) -> None:
    keras = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues()).load("keras")
    with tf.Graph().as_default(), tf.Session():
        model = keras.models.Sequential([keras.layers.Dense(1, input_dim=2)])
        model.compile(keras.optimizers.Adam(lr=0.3), "mse")
        x = keras.utils.io_utils.HDF5Matrix(path, "x", normalizer=lambda x: x / 10)
        y = keras.utils.io_utils.HDF5Matrix(path, "y", normalizer=lambda y: y / 20)
        model.fit(x, y, batch_size=5, epochs=100, shuffle=shuffle, verbose=0)
        assert model.evaluate(x, y, verbose=0) < 1e-3
        assert model.predict(x[:]).shape == (10, 1)
