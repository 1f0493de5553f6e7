"""Reads records of TFRecord files by number, in the graph."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import packed
from moxing.tensorflow.datasets.tfrecords.record_index import HEAD, TAIL, RecordFile, masked_crc32c


class Records:
    """The records of several files, numbered consecutively.

    Every record can be read directly. So the order of samples can be a permutation of all records,
    a resumed run does not read earlier records again, and workers read only their own records.
    This costs about 60 microseconds per record more than reading a file sequentially.

    Attributes:
        files: the files that have records.
        count: the number of records.
    """

    def __init__(self, files: Sequence[RecordFile]) -> None:
        self.files = [file for file in files if file.count]
        self.count = sum(file.count for file in self.files)
        self._ends = np.cumsum([file.count for file in self.files])

    def place(self, number: int) -> tuple[RecordFile, int]:
        """Returns the file of a record, and the record's number in the file."""
        index = int(np.searchsorted(self._ends, number, side="right"))
        file = self.files[index]
        return file, number - int(self._ends[index]) + file.count

    def connect(self) -> Callable[[tf.Tensor], tf.Tensor]:
        """Makes, in the current graph, a function from a record's number to its content.

        The function fails if the content does not match its checksum.
        """
        paths = packed.strings([file.path for file in self.files])
        sizes = packed.numbers(np.concatenate([np.diff(file.starts) for file in self.files]))
        ends = tf.constant(self._ends)
        before = tf.concat([tf.zeros([1], tf.int64), tf.cumsum(sizes)], 0)
        # Record numbers and bytes count over all files; subtract the bytes of earlier files.
        first_bytes = tf.gather(before, tf.concat([tf.zeros([1], tf.int64), ends[:-1]], 0))

        def read(number: tf.Tensor) -> tf.Tensor:
            file = tf.raw_ops.UpperBound(
                sorted_inputs=ends[tf.newaxis], values=tf.reshape(number, [1, 1])
            )[0, 0]
            return _read_at(paths[file], before[number] - first_bytes[file], sizes[number])

        return read

    def damage(self, number: int) -> str:
        """Returns the problem of a record's bytes, as the end of a sentence; "" if none."""
        file, index = self.place(number)
        start, end = int(file.starts[index]), int(file.starts[index + 1])
        try:
            with open(file.path, "rb") as stream:
                stream.seek(start)
                content = stream.read(end - start)
        except OSError as error:
            return f"can't be read: {os.strerror(error.errno or 0)}."
        if len(content) < end - start:
            return "is cut off; the file has become shorter."
        data = np.frombuffer(content, np.uint8)
        (wanted,) = data[-TAIL:].view("<u4")
        if _crc_of_one(data[HEAD:-TAIL]) != wanted:
            return "is damaged: its content does not have its checksum."
        return ""


def _read_at(path: tf.Tensor, offset: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    file = tf.raw_ops.TFRecordDatasetV2(
        filenames=path[tf.newaxis],
        compression_type="",
        buffer_size=size,  # Read the whole record in one system call.
        byte_offsets=offset[tf.newaxis],
    )
    signature = {"output_types": [tf.string], "output_shapes": [[]]}
    one = tf.raw_ops.TakeDataset(input_dataset=file, count=tf.constant(1, tf.int64), **signature)
    return tf.raw_ops.DatasetToSingleElement(dataset=one, **signature)[0]


def _crc_of_one(data: np.ndarray) -> int:
    """Returns the checksum of one record's content; slow, but used only for messages."""
    return int(masked_crc32c(data[np.newaxis])[0])
