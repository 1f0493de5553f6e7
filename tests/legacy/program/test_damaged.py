"""Errors of damaged files name the file, and the record in it, whoever reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow.compat.v1 as tf
import tf_keras

from moxing.legacy.program import damaged


@pytest.fixture
def torn(tmp_path: Path) -> Path:
    """A file of ten records, of which the last is cut off."""
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in range(10):
            writer.write(bytes([number]) * 50)
    path.write_bytes(path.read_bytes()[:-20])
    return path


def _read_by_iterator(path: Path) -> None:
    for _ in tf.io.tf_record_iterator(str(path)):
        pass


def _read_in_a_session(path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.data.make_one_shot_iterator(tf.data.TFRecordDataset(str(path))).get_next()
        while True:
            session.run(step)


@pytest.mark.parametrize("read", [_read_by_iterator, _read_in_a_session])
def test_the_record_that_is_cut_off_is_named(torn: Path, read: Callable[[Path], None]) -> None:
    with pytest.raises(tf.errors.DataLossError) as caught:
        read(torn)

    assert damaged.about(caught.value) == (
        f"record 9 (from 0) of {torn} is truncated, at byte 594. Get the file again, or leave it"
        " out."
    )


def _load_model(path: Path) -> None:
    tf_keras.models.load_model(path)


def _load_weights(path: Path) -> None:
    tf_keras.Sequential([tf_keras.layers.Dense(1, input_shape=(1,))]).load_weights(path)


@pytest.mark.parametrize("load", [_load_model, _load_weights])
def test_the_file_of_a_model_that_is_cut_off_is_named(
    tmp_path: Path, load: Callable[[Path], None]
) -> None:
    path = tmp_path / "m.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(30))
    with pytest.raises(OSError, match="Unable to") as caught:
        load(path)

    assert damaged.about(caught.value) == (
        f"{path} (38 bytes) is damaged, or no HDF5 file, which .h5 stands for. Get the file again."
    )


def test_other_errors_get_no_such_sentence(torn: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        Path(f"{torn}.gone").read_bytes()
    assert damaged.about(caught.value) == ""
    assert damaged.about(ValueError(str(torn))) == ""
