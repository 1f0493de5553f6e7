"""Records of a file are read without a word of TensorFlow's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import records


def test_records_come_in_order_and_silently(tmp_path: Path, caplog: Any) -> None:
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for content in (b"one", b"", b"three"):
            writer.write(content)
    assert list(records.contents(path)) == [b"one", b"", b"three"]
    assert caplog.records == []
