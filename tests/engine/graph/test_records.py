"""Records of a file are read without a word of TensorFlow's own."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import records


def test_records_come_in_order_and_silently(tmp_path: Path, caplog: Any) -> None:
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for content in (b"one", b"", b"three"):
            writer.write(content)
    assert list(records.contents(path)) == [b"one", b"", b"three"]
    assert caplog.records == []


@pytest.mark.parametrize("length", [6, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])
def test_a_length_that_no_file_has_takes_no_memory(tmp_path: Path, length: int) -> None:
    """TensorFlow's reader makes room for it first, which ends the process."""
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"one")
        writer.write(b"two")
    whole = path.read_bytes()
    head = struct.pack("<Q", length)
    damaged = whole[:19] + head + struct.pack("<I", records._masked_crc32c(head)) + whole[31:]
    path.write_bytes(damaged)
    found = records.contents(str(path))
    assert next(found) == b"one"
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 19"):
        next(found)


def test_the_checksum_is_that_of_tensorflow(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"x" * 1000)
    length, checksum = struct.unpack("<8sI", path.read_bytes()[:12])
    assert records._masked_crc32c(length) == checksum
