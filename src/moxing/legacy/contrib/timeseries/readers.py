"""Readers of `tf.contrib.timeseries`: where the times and the values of a series come from."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.estimator.canned import series

TIMES = "times"
VALUES = "values"

# More records than one file of a series has, in one batch.
_WHOLE = 2**40


class TimeSeriesReader(abc.ABC):
    """Reads a series: a dict of tensors whose first dimension is the time steps."""

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        """Raises a ValueError where the series is known to be shorter; does nothing here."""
        del minimum_dataset_size

    @abc.abstractmethod
    def read(self) -> dict[str, tf.Tensor]:
        """Returns a part of the series."""

    @abc.abstractmethod
    def read_full(self) -> dict[str, tf.Tensor]:
        """Returns the whole series."""


class WholeReader(TimeSeriesReader):
    """A reader that has the whole series as one element of a dataset."""

    @abc.abstractmethod
    def dataset(self) -> tf.data.Dataset:
        """The series as one element, a dict of tensors."""

    def read(self) -> dict[str, tf.Tensor]:
        """Returns the whole series."""
        return self.read_full()

    def read_full(self) -> dict[str, tf.Tensor]:
        """Returns the whole series, at each run of the graph."""
        return tf.data.make_one_shot_iterator(self.dataset().repeat()).get_next()


class NumpyReader(WholeReader):
    """Reads arrays.

    Args:
        data: "times", integers of shape [steps], and "values", of shape [steps] or
            [steps, features]; further features likewise. All may have a dimension of 1 in front.
        read_num_records_hint: accepted, as the series is read as a whole.

    Raises:
        ValueError: a key is missing, or an array does not have one value a step.
    """

    def __init__(self, data: Mapping[str, Any], read_num_records_hint: int = 4096) -> None:
        del read_num_records_hint
        checked = series.load("saved_model_utils")._canonicalize_numpy_data(
            dict(data), require_single_batch=True
        )
        self._data = {name: np.asarray(value)[0] for name, value in checked.items()}

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        """Raises a ValueError if the series is shorter than this number of steps."""
        steps = len(self._data[TIMES])
        if steps < minimum_dataset_size:
            raise MoxValueError(
                f"windows of {minimum_dataset_size} steps were asked for, but the series has "
                f"{steps} steps. Ask for shorter windows, or give a longer series."
            )

    def dataset(self) -> tf.data.Dataset:
        """The arrays as one element."""
        return tf.data.Dataset.from_tensors(self._data)


class _FileReader(WholeReader):
    """Reads records of files, one record a step, in the order of the files."""

    def __init__(self, filenames: str | Sequence[str], read_num_records_hint: int = 4096) -> None:
        del read_num_records_hint
        self._files = [filenames] if isinstance(filenames, str) else list(filenames)

    @abc.abstractmethod
    def _records(self, file: tf.Tensor) -> tf.data.Dataset:
        """The records of one file, as texts."""

    @abc.abstractmethod
    def _parse(self, records: tf.Tensor) -> dict[str, tf.Tensor]:
        """The features of all records."""

    def dataset(self) -> tf.data.Dataset:
        """The parsed records of all files as one element."""
        records = tf.data.Dataset.from_tensor_slices(self._files).flat_map(self._records)
        return records.batch(_WHOLE).map(self._parse)


class CSVReader(_FileReader):
    """Reads lines of comma-separated values.

    Args:
        filenames: the file, or the files in order.
        column_names: the names of the columns; "values" may come several times.
        column_dtypes: the dtype of each column; None: int64 for "times", float32 for the others.
        skip_header_lines: how many lines at the head of each file are left out.
        read_num_records_hint: accepted, as the series is read as a whole.

    Raises:
        ValueError: there is not one column "times", no column "values", or another number of
            dtypes.
    """

    def __init__(
        self,
        filenames: str | Sequence[str],
        column_names: Sequence[str] = (TIMES, VALUES),
        column_dtypes: Sequence[tf.DType] | None = None,
        skip_header_lines: int | None = None,
        read_num_records_hint: int = 4096,
    ) -> None:
        names = list(column_names)
        if names.count(TIMES) != 1 or VALUES not in names:
            raise MoxValueError(
                f"column_names={column_names!r} has {names.count(TIMES)} columns {TIMES!r} and "
                f"{names.count(VALUES)} columns {VALUES!r}; give 1 {TIMES!r} and at least 1 "
                f"{VALUES!r}."
            )
        if column_dtypes is not None and len(column_dtypes) != len(names):
            raise MoxValueError(
                f"column_dtypes={column_dtypes!r} has {len(column_dtypes)} dtypes for "
                f"{len(names)} columns; give a dtype for each column."
            )
        super().__init__(filenames, read_num_records_hint)
        self._names = names
        self._dtypes = column_dtypes or [tf.int64 if n == TIMES else tf.float32 for n in names]
        self._skipped = skip_header_lines or 0

    def _records(self, file: tf.Tensor) -> tf.data.Dataset:
        return tf.data.TextLineDataset(file).skip(self._skipped)

    def _parse(self, records: tf.Tensor) -> dict[str, tf.Tensor]:
        defaults = [tf.zeros([0], dtype) for dtype in self._dtypes]
        columns: dict[str, list[tf.Tensor]] = {}
        for name, column in zip(self._names, tf.io.decode_csv(records, defaults), strict=True):
            columns.setdefault(name, []).append(column)
        return {
            name: found[0] if len(found) == 1 and name != VALUES else tf.stack(found, axis=1)
            for name, found in columns.items()
        }


class TFExampleReader(_FileReader):
    """Reads tf.train.Examples of TFRecord files, one a step.

    Args:
        filenames: the file, or the files in order.
        features: the features of an example, as `tf.parse_example` takes them.

    Raises:
        ValueError: "times" or "values" is not among the features.
    """

    def __init__(self, filenames: str | Sequence[str], features: Mapping[str, Any]) -> None:
        for name in (TIMES, VALUES):
            if name not in features:
                raise MoxValueError(
                    f"features={sorted(features)} lack {name!r}; add a tf.FixedLenFeature."
                )
        super().__init__(filenames)
        self._features = dict(features)

    def _records(self, file: tf.Tensor) -> tf.data.Dataset:
        return tf.data.TFRecordDataset(file)

    def _parse(self, records: tf.Tensor) -> dict[str, tf.Tensor]:
        found = tf.io.parse_example(records, self._features)
        return {
            name: tf.expand_dims(value, 1) if name == VALUES and value.shape.rank == 1 else value
            for name, value in found.items()
        }
