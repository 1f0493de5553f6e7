"""Readers of `tf.contrib.timeseries` give the steps of a series, and their windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import timeseries
from moxing.legacy.contrib.timeseries.readers import TIMES, VALUES

STEPS = 50


def run(build: Any, times: int = 1) -> list[Any]:
    """The values of tensors that `build` makes, of several runs."""
    with tf.Graph().as_default(), tf.Session() as session:
        built = build()
        return [session.run(built) for _ in range(times)]


def series(width: int = 1) -> timeseries.NumpyReader:
    values = np.arange(STEPS * width, dtype=np.float64).reshape(STEPS, width)
    return timeseries.NumpyReader({TIMES: np.arange(STEPS), VALUES: values})


@pytest.mark.parametrize("shape", [(STEPS,), (STEPS, 1), (1, STEPS, 1)])
def test_arrays_of_one_series_in_every_shape(shape: tuple[int, ...]) -> None:
    times = np.arange(STEPS).reshape(shape[: len(shape) - (shape[-1] == 1)])
    data = {TIMES: times, VALUES: np.arange(STEPS, dtype=np.float32).reshape(shape)}
    (full,) = run(timeseries.NumpyReader(data).read_full)
    np.testing.assert_array_equal(full[TIMES], np.arange(STEPS))
    np.testing.assert_array_equal(full[VALUES], np.arange(STEPS)[:, None])


def test_lines_of_files_in_their_order(tmp_path: Path) -> None:
    for number in range(2):
        lines = [f"{number * 10 + step},{step}.5,{step}.25,{step}" for step in range(10)]
        (tmp_path / f"{number}.csv").write_text("\n".join(["a,b,c,d", *lines]))
    reader = timeseries.CSVReader(
        [str(tmp_path / "0.csv"), str(tmp_path / "1.csv")],
        column_names=(TIMES, VALUES, VALUES, "other"),
        column_dtypes=(tf.int64, tf.float32, tf.float32, tf.int32),
        skip_header_lines=1,
    )
    (full,) = run(reader.read_full)
    np.testing.assert_array_equal(full[TIMES], np.arange(20))
    np.testing.assert_array_equal(full[VALUES][12], [2.5, 2.25])
    np.testing.assert_array_equal(full["other"], [*range(10), *range(10)])


def test_examples_of_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "series")
    with tf.io.TFRecordWriter(path) as file:
        for step in range(7):
            example = tf.train.Example()
            example.features.feature[TIMES].int64_list.value.append(step)
            example.features.feature[VALUES].float_list.value.append(step / 2)
            file.write(example.SerializeToString())
    features = {
        TIMES: tf.FixedLenFeature([], tf.int64),
        VALUES: tf.FixedLenFeature([], tf.float32),
    }
    (full,) = run(timeseries.TFExampleReader(path, features).read_full)
    np.testing.assert_array_equal(full[TIMES], np.arange(7))
    np.testing.assert_array_equal(full[VALUES], np.arange(7)[:, None] / 2)


def test_windows_are_consecutive_steps_at_many_places() -> None:
    windows = timeseries.RandomWindowInputFn(series(2), window_size=10, batch_size=4)
    starts = set()
    for features, _ in run(lambda: (windows.create_batch()[0], tf.constant(0)), times=60):
        assert features[TIMES].shape == (4, 10)
        assert features[VALUES].shape == (4, 10, 2)
        assert (np.diff(features[TIMES]) == 1).all()
        np.testing.assert_array_equal(features[VALUES][..., 0], features[TIMES] * 2)
        starts |= set(features[TIMES][:, 0])
    assert (min(starts), max(starts)) == (0, STEPS - 10)
    assert len(starts) > 30


def test_without_jitter_windows_do_not_overlap() -> None:
    windows = timeseries.RandomWindowInputFn(series(), 10, batch_size=8, jitter=False)
    found = run(lambda: windows()[0][TIMES], times=20)
    assert {int(start) for batch in found for start in batch[:, 0]} == {0, 10, 20, 30, 40}


def test_windows_with_falling_times_are_left_out_or_sorted() -> None:
    times = [*range(20, 40), *range(20)]
    reader = timeseries.NumpyReader({TIMES: times, VALUES: np.array(times, np.float32)})
    for keep in (False, True):
        windows = timeseries.RandomWindowInputFn(reader, 10, 16, discard_out_of_order=not keep)
        found = np.concatenate(run(lambda windows=windows: windows()[0][TIMES], times=20))
        assert (np.diff(found) > 0).all()
        assert ((np.diff(found) > 1).any()) is np.bool_(keep)


def test_a_reader_of_the_programs_own() -> None:
    class Squares(timeseries.TimeSeriesReader):
        def read_full(self) -> dict[str, tf.Tensor]:
            times = tf.range(20, dtype=tf.int64)
            return {TIMES: times, VALUES: tf.cast(times, tf.float32)[:, None] ** 2}

        read = read_full

    windows = timeseries.RandomWindowInputFn(Squares(), window_size=5, batch_size=3)
    (features,) = run(lambda: windows()[0])
    np.testing.assert_allclose(features[VALUES][..., 0], features[TIMES] ** 2, rtol=1e-5)
    (whole,) = run(lambda: timeseries.WholeDatasetInputFn(Squares())()[0])
    assert whole[VALUES].shape == (1, 20, 1)


def test_wrong_arguments_say_what_to_give() -> None:
    with pytest.raises(ValueError, match="series has 50 steps. Ask for shorter windows"):
        timeseries.RandomWindowInputFn(series(), window_size=51, batch_size=1)
    with pytest.raises(ValueError, match="0 columns 'values'"):
        timeseries.CSVReader("a.csv", column_names=(TIMES, "value"))
    with pytest.raises(ValueError, match="1 dtypes for 2 columns"):
        timeseries.CSVReader("a.csv", column_dtypes=(tf.int64,))
    with pytest.raises(ValueError, match="lack 'times'"):
        timeseries.TFExampleReader("a", {VALUES: tf.FixedLenFeature([], tf.float32)})
