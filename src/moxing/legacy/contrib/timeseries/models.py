"""Models of `tf.contrib.timeseries` that tensorflow-estimator left out, by its base classes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
import tf_keras

from moxing.errors import MoxNotSupportedError
from moxing.estimator.canned import series

_NORMAL = "normal_likelihood_loss"


class FlatPredictionModel(tf_keras.Model):
    """Predicts the values of a window from all numbers of the windows around, side by side.

    Args:
        num_features: the number of values of a step.
        input_window_size: the number of steps that are known.
        output_window_size: the number of steps to predict.
        hidden_layer_sizes: the units of hidden layers; None: the prediction is linear.
    """

    def __init__(
        self,
        num_features: int,
        input_window_size: int,
        output_window_size: int,
        hidden_layer_sizes: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self._flatten = tf_keras.layers.Flatten()
        self._hidden = [
            tf_keras.layers.Dense(size, activation="relu") for size in hidden_layer_sizes or ()
        ]
        numbers = num_features * output_window_size
        self._mean = tf_keras.layers.Dense(numbers, name="predicted_mean")
        self._covariance = tf_keras.layers.Dense(numbers, name="log_sigma_square")
        self._shape = [-1, output_window_size, num_features]
        self._known = input_window_size

    def call(self, input_window_features: Any, output_window_features: Any) -> dict[str, Any]:
        """Returns "mean" and "covariance", each of shape [batch, output steps, features]."""
        # A model without known steps reads the times of the output alone.
        read = [input_window_features] if self._known else []
        flat = [self._flatten(part) for part in (*read, output_window_features)]
        numbers = tf.concat(flat, axis=1)
        for layer in self._hidden:
            numbers = layer(numbers)
        return {
            "mean": tf.reshape(self._mean(numbers), self._shape),
            "covariance": tf.reshape(tf.exp(self._covariance(numbers)), self._shape),
        }


@functools.cache
def ar_model() -> Any:
    """The class `ARModel`, whose predictions are flat unless another model is given."""
    library = series.load("ar_model")

    class ARModel(library.ARModel):
        """An autoregressive model; see tensorflow-estimator's ARModel for the arguments."""

        def __init__(
            self,
            periodicities: Any,
            input_window_size: int,
            output_window_size: int,
            num_features: int,
            prediction_model_factory: Callable[..., Any] = FlatPredictionModel,
            num_time_buckets: int = 10,
            loss: str = _NORMAL,
            exogenous_feature_columns: Any = None,
        ) -> None:
            super().__init__(
                periodicities,
                input_window_size,
                output_window_size,
                num_features,
                prediction_model_factory,
                num_time_buckets,
                loss,
                exogenous_feature_columns,
            )

    return ARModel


@functools.cache
def ar_regressor() -> Any:
    """The class `ARRegressor`: an Estimator of an autoregressive model."""
    library = series.load("estimators")

    class ARRegressor(library.TimeSeriesRegressor):
        """Trains an ARModel.

        Args:
            periodicities: the period, or periods, of the series, in units of its times.
            input_window_size: the number of steps that a prediction reads.
            output_window_size: the number of steps that are predicted at once.
            num_features: the number of values of a step.
            exogenous_feature_columns: columns of further features.
            num_time_buckets: the number of parts of a period.
            loss: ARModel.NORMAL_LIKELIHOOD_LOSS or ARModel.SQUARED_LOSS.
            hidden_layer_sizes: the units of hidden layers; None: none.
            anomaly_prior_probability, anomaly_distribution: not supported.
            optimizer: an optimizer of tf.train; None: Adagrad with rate 0.1.
            model_dir, config: see Estimator.

        Raises:
            MoxNotSupportedError: a mixture with anomalies is asked for.
        """

        def __init__(
            self,
            periodicities: Any,
            input_window_size: int,
            output_window_size: int,
            num_features: int,
            exogenous_feature_columns: Any = None,
            num_time_buckets: int = 10,
            loss: str = _NORMAL,
            hidden_layer_sizes: Sequence[int] | None = None,
            anomaly_prior_probability: float | None = None,
            anomaly_distribution: str | None = None,
            optimizer: Any = None,
            model_dir: str | None = None,
            config: Any = None,
        ) -> None:
            if anomaly_prior_probability is not None or anomaly_distribution is not None:
                raise MoxNotSupportedError(
                    "ARRegressor has no anomaly_prior_probability and no anomaly_distribution "
                    "here; leave both out, and remove outliers from the series before training."
                )
            super().__init__(
                model=ar_model()(
                    periodicities,
                    input_window_size,
                    output_window_size,
                    num_features,
                    functools.partial(FlatPredictionModel, hidden_layer_sizes=hidden_layer_sizes),
                    num_time_buckets,
                    loss,
                    exogenous_feature_columns,
                ),
                optimizer=optimizer or tf.train.AdagradOptimizer(0.1),
                state_manager=series.load("state_management").FilteringOnlyStateManager(),
                model_dir=model_dir,
                config=config,
            )

    return ARRegressor
