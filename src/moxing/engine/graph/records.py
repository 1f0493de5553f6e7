"""Finds the file and the record at which a program's own TFRecordDataset could not go on."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator

import tensorflow.compat.v1 as tf
from tensorflow.python.util import deprecation

_BROKEN = re.compile(r"(truncated|corrupted) record at (\d+)")
_MOST_FILES = 10_000


def contents(path: str) -> Iterator[bytes]:
    """The records of a file, one after another, without TensorFlow's advice to use tf.data."""
    with deprecation.silence():
        return iter(tf.io.tf_record_iterator(path))


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
