"""Finds the file and the record at which a program's own TFRecordDataset could not go on."""

from __future__ import annotations

import glob
import os
import re
import struct
from collections.abc import Iterable, Iterator

import tensorflow.compat.v1 as tf
from tensorflow.python.util import deprecation

_BROKEN = re.compile(r"(truncated|corrupted) record at (\d+)")
_MOST_FILES = 10_000
# Bytes before the content of a record, its length and the checksum of the length; and bytes
# behind the content, its checksum.
_HEAD, _TAIL = 12, 4


def contents(path: str) -> Iterator[bytes]:
    """The records of a file, one after another, without TensorFlow's advice to use tf.data.

    Raises:
        DataLossError: a record is damaged or cut off.
    """
    with deprecation.silence():
        found = tf.io.tf_record_iterator(path)
    size, at = os.path.getsize(path), 0
    with open(path, "rb") as stream:
        while True:
            stream.seek(at)
            if _is_too_long(stream.read(_HEAD), size - at):
                raise tf.errors.DataLossError(None, None, f"truncated record at {at}")
            try:
                content = next(found)
            except StopIteration:
                return
            at += _HEAD + len(content) + _TAIL
            yield content


def _is_too_long(head: bytes, left: int) -> bool:
    """Whether a record says, without damage, that it is longer than the rest of its file.

    TensorFlow makes room for such a record before it looks for its end: it takes all memory.
    """
    if len(head) < _HEAD:
        return False
    length, checksum = struct.unpack("<QI", head)
    return length > left - _HEAD - _TAIL and checksum == _masked_crc32c(head[:8])


def _masked_crc32c(data: bytes) -> int:
    """Returns the checksum of the few bytes of a record's length."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def broken(error: tf.errors.OpError, graph: tf.Graph) -> str:
    """`record 8 of /data/a.tfrecord is truncated ...`; empty where no file of the graph is broken.

    TensorFlow's error tells the offset, but not the file. So the files that the graph names are
    read, up to the file that fails at that offset. A file that only a feed or another file names
    is not found.
    """
    return broken_in(error, _files(graph))


def broken_in(error: tf.errors.OpError, paths: Iterable[str]) -> str:
    """The same text as that of `broken`, where the files that may be broken are known."""
    found = _BROKEN.search(str(error.message))
    if not isinstance(error, tf.errors.DataLossError) or found is None:
        return ""
    for path in paths:
        if os.path.getsize(path) > int(found[2]) and (count := _fails_at(path, found[0])) >= 0:
            return (
                f"record {count} (from 0) of {path} is {found[1]}, at byte {found[2]}. Get the file"
                " again, or leave it out"
            )
    return ""


def _files(graph: tf.Graph) -> Iterator[str]:
    """Local files that constants of the graph and of its functions name, or match as patterns."""
    definition = graph.as_graph_def()
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    seen: set[str] = set()
    for node in nodes:
        value = node.attr["value"].tensor if node.op == "Const" else None
        if value is None or value.dtype != tf.string.as_datatype_enum:
            continue
        for name in value.string_val:
            text = os.fsdecode(name)
            for path in [text] if "\0" in text or os.path.exists(text) else glob.glob(text):
                if path not in seen and "\0" not in path and os.path.isfile(path):
                    seen.add(path)
                    yield path
                if len(seen) >= _MOST_FILES:
                    return


def _fails_at(path: str, words: str) -> int:
    """How many records precede the failure that TensorFlow words so; -1: the file does not fail."""
    count = 0
    try:
        for _ in contents(path):
            count += 1
    except tf.errors.OpError as error:
        return count if re.search(rf"{words}(?!\d)", str(error)) else -1
    return -1
