"""Small parts of `tf.contrib.learn`: modes, and files of its data sets."""

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
    """What a model function is called for."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


class Dataset(NamedTuple):
    """Data and what it means, both arrays."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """The three parts of a data set."""

    train: Any
    validation: Any
    test: Any


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Downloads a file, unless it is there.

    Args:
        filename: of the file in work_directory.
        work_directory: made if it is not there.
        source_url: the file's whole address.

    Returns:
        The path of the file.
    """
    os.makedirs(work_directory, exist_ok=True)
    path = os.path.join(work_directory, filename)
    if os.path.exists(path):
        return path
    # Under its name the file is never a part of itself.
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
    """A CSV file whose first line says how many rows and features there are."""
    with tf.io.gfile.GFile(filename) as file:
        rows = csv.reader(file)
        next(rows)
        return _table(rows, target_dtype, features_dtype, target_column)


def load_csv_without_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """A CSV file of rows."""
    with tf.io.gfile.GFile(filename) as file:
        return _table(csv.reader(file), target_dtype, features_dtype, target_column)


def _table(rows: Any, target_dtype: Any, features_dtype: Any, target_column: int) -> Dataset:
    data, target = [], []
    for row in rows:
        target.append(row.pop(target_column))
        data.append(np.asarray(row, features_dtype))
    return Dataset(np.array(data), np.array(target, target_dtype))
