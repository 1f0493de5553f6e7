"""TFRecord files compressed by TensorFlow's writer, or by gzip, are read like others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data.feed import Feed
from moxing.errors import MoxValueError
from moxing.tensorflow.datasets import BaseTFRecordDataset, BaseTFRecordMetadata
from moxing.tensorflow.datasets.tfrecords.compressed import is_compressed

COUNT = 300


def _write(path: Path, numbers: range, kind: str) -> None:
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(kind)) as writer:
        for number in numbers:
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
            features = tf.train.Features(feature={"x": value})
            writer.write(tf.train.Example(features=features).SerializeToString())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files, each written in another way: numbers 0 to 299 as feature x."""
    made = tmp_path / "records"
    made.mkdir()
    for index, kind in enumerate(["GZIP", "ZLIB", ""]):
        _write(made / f"{index}.tfrecord", range(100 * index, 100 * index + 100), kind)
    return made


@pytest.fixture
def make(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`make(**arguments)`: a reader of them, whose copies are in `tmp_path / "copies"`."""
    from moxing.framework.file.configuration import tuning

    monkeypatch.setattr(tuning, "staging_dir", lambda: str(tmp_path / "copies"))

    def reader(**arguments: Any) -> BaseTFRecordDataset:
        metadata = BaseTFRecordMetadata(folder, "*.tfrecord")
        assert metadata.num_samples == COUNT
        return BaseTFRecordDataset(
            metadata, ["x"], [tf.io.FixedLenFeature([], tf.int64)], num_epochs=1, **arguments
        )

    return reader


def test_all_records_are_read_also_from_the_middle(make: Callable[..., Any], read: Any) -> None:
    whole = [row[0] for row in read(make, ["x"], Feed(seed=1))]
    assert sorted(whole) == list(range(COUNT))
    assert [row[0] for row in read(make, ["x"], Feed(seed=1, start=170))] == whole[170:]


def test_a_copy_is_made_once(make: Callable[..., Any], tmp_path: Path) -> None:
    make()
    copies = {path: path.stat().st_mtime_ns for path in (tmp_path / "copies").rglob("*.tfrecord")}
    assert sorted(path.name for path in copies) == ["0.tfrecord", "1.tfrecord"]
    make()
    assert copies == {
        path: path.stat().st_mtime_ns for path in (tmp_path / "copies").rglob("*.tfrecord")
    }


@pytest.mark.usefixtures("make")
def test_several_gzip_members_are_one_file(folder: Path) -> None:
    first, second = folder / "0.tfrecord", folder / "more"
    _write(second, range(10), "GZIP")
    first.write_bytes(first.read_bytes() + second.read_bytes())
    assert BaseTFRecordMetadata(folder, "0.tfrecord").num_samples == 110


@pytest.mark.usefixtures("make")
def test_damage_is_named(folder: Path) -> None:
    path = folder / "0.tfrecord"
    content = path.read_bytes()
    for damaged, message in (
        (content[:-20], f"{path} is cut off in its compressed data. Write it again."),
        (
            content[:30] + bytes(20) + content[50:],
            f"{path} is compressed, but damaged: Error -3 while decompressing data:",
        ),
    ):
        path.write_bytes(damaged)
        with pytest.raises(MoxValueError) as caught:
            BaseTFRecordMetadata(folder, "0.tfrecord")
        assert str(caught.value).startswith(message)


def test_a_record_whose_length_looks_like_gzip_is_none(folder: Path) -> None:
    path = folder / "long.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(bytes(0x8B1F))
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert not is_compressed(str(path))
