"""Small parts of `tf.contrib.learn`: modes, and functions to read data sets from files."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
import urllib.request
from typing import Any, NamedTuple

import numpy as np
import tensorflow.compat.v1 as tf

_TIMEOUT_SECONDS = 60


class ModeKeys:
    """The modes of a model function's call."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"
    PREDICT = INFER


class Dataset(NamedTuple):
    """Arrays of data and of their targets."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """The training, validation and test parts of a data set."""

    train: Any
    validation: Any
    test: Any


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Downloads a file, unless it exists.

    Args:
        filename: the name of the file in work_directory.
        work_directory: a directory, created if it does not exist.
        source_url: the complete URL of the file.

    Returns:
        The path of the file.
    """
    os.makedirs(work_directory, exist_ok=True)
    path = os.path.join(work_directory, filename)
    if os.path.exists(path):
        return path
    # Only a complete file gets the final name.
    with tempfile.NamedTemporaryFile(dir=work_directory, delete=False) as part:
        try:
            with urllib.request.urlopen(source_url, timeout=_TIMEOUT_SECONDS) as source:
                shutil.copyfileobj(source, part)
            os.replace(part.name, path)
        except BaseException:
            os.unlink(part.name)
            raise
    tf.logging.info("Successfully downloaded %s, %d bytes.", filename, os.path.getsize(path))
    return path


def load_csv_with_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Reads a CSV file after skipping its header line."""
    with tf.io.gfile.GFile(filename) as file:
        rows = csv.reader(file)
        next(rows)
        return _table(rows, target_dtype, features_dtype, target_column)


def load_csv_without_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Reads a CSV file without a header line."""
    with tf.io.gfile.GFile(filename) as file:
        return _table(csv.reader(file), target_dtype, features_dtype, target_column)


def _table(rows: Any, target_dtype: Any, features_dtype: Any, target_column: int) -> Dataset:
    data, target = [], []
    for row in rows:
        target.append(row.pop(target_column))
        data.append(np.asarray(row, features_dtype))
    return Dataset(np.array(data), np.array(target, target_dtype))
