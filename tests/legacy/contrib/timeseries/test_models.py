"""Models of `tf.contrib.timeseries` learn a series, and continue it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib import timeseries
from moxing.legacy.contrib.timeseries.readers import TIMES, VALUES

T: Any = timeseries


def wave(times: Any) -> Any:
    return np.sin(np.pi * times / 10) * 3 + 5


def reader(steps: int = 400) -> timeseries.NumpyReader:
    times = np.arange(steps)
    return timeseries.NumpyReader({TIMES: times, VALUES: wave(times)})


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["normal_likelihood_loss", "squared_loss"])
def test_an_autoregressive_model_continues_the_series(loss: str, tmp_path: Path) -> None:
    model = T.ARRegressor(
        periodicities=20,
        input_window_size=10,
        output_window_size=5,
        num_features=1,
        loss=loss,
        model_dir=str(tmp_path),
    )
    model.train(timeseries.RandomWindowInputFn(reader(), 15, 16), steps=400)
    found = model.evaluate(timeseries.WholeDatasetInputFn(reader()), steps=1)
    assert found["mean"].shape == (1, 390, 1)
    assert found["times"].shape == (1, 390)
    assert [np.shape(part) for part in found["start_tuple"]] == [(1, 10), (1, 10, 1), (1, 10, 0)]
    following = timeseries.predict_continuation_input_fn(found, steps=30)
    (predicted,) = model.predict(following)
    np.testing.assert_array_equal(predicted["times"], np.arange(400, 430))
    error = np.abs(predicted["mean"][:, 0] - wave(np.arange(400, 430))).mean()
    assert error < 0.5, f"of a wave with the deviation 2.1: {error}"


class Repeats(T.SequentialTimeSeriesModel):  # type: ignore[misc]
    """Learns the factor of the value before."""

    def __init__(self, **options: Any) -> None:
        super().__init__(["mean"], ["mean"], num_features=1, **options)

    def initialize_graph(self, input_statistics: Any = None) -> None:
        super().initialize_graph(input_statistics)
        self._factor = tf.get_variable("factor", initializer=0.5)

    def get_start_state(self) -> Any:
        return [tf.zeros([], tf.int64), tf.ones([1])]

    def _prediction_step(self, current_times: Any, state: Any) -> Any:
        mean = state[1] * self._factor
        return [current_times, mean], {"mean": mean}

    def _filtering_step(
        self, current_times: Any, current_values: Any, state: Any, predictions: Any
    ) -> Any:
        loss = tf.reduce_mean((predictions["mean"] - current_values) ** 2, axis=-1)
        return [current_times, current_values], {**predictions, "loss": loss}

    def _imputation_step(self, current_times: Any, state: Any) -> Any:
        return state

    def _exogenous_input_step(self, current_times: Any, regressors: Any, state: Any) -> Any:
        raise NotImplementedError


@pytest.mark.slow
@pytest.mark.parametrize("unrolled", [None, 8])
def test_a_model_that_goes_step_by_step(unrolled: int | None, tmp_path: Path) -> None:
    times = np.arange(20)
    doubled = timeseries.NumpyReader({TIMES: times, VALUES: 1.1**times})
    model = T.TimeSeriesRegressor(
        model=Repeats(static_unrolling_window_size_threshold=unrolled),
        optimizer=tf.train.AdamOptimizer(0.05),
        model_dir=str(tmp_path),
    )
    model.train(timeseries.RandomWindowInputFn(doubled, 8, 4), steps=150)
    assert model.get_variable_value("factor") == pytest.approx(1.1, abs=0.05)
    found = model.evaluate(timeseries.WholeDatasetInputFn(doubled), steps=1)
    assert found["observed"].shape == found["mean"].shape == (1, 20, 1)
    (predicted,) = model.predict(timeseries.predict_continuation_input_fn(found, times=[20, 22]))
    assert predicted["mean"][0, 0] == pytest.approx(1.1**20, rel=0.1)
