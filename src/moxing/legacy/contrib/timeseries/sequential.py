"""`SequentialTimeSeriesModel`: the base of models of series that go step by step."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.estimator.canned import series

_Step = Callable[[tf.Tensor, tf.Tensor, Any], tuple[Any, Mapping[str, tf.Tensor]]]


@functools.cache
def sequential_model() -> Any:
    """The class `SequentialTimeSeriesModel`."""
    library = series.load("model")
    keys = series.load("feature_keys")
    own = {
        keys.TrainEvalFeatures.TIMES,
        keys.TrainEvalFeatures.VALUES,
        keys.PredictionFeatures.STATE_TUPLE,
    }

    class SequentialTimeSeriesModel(library.TimeSeriesModel):
        """A model that predicts a step, then corrects its state by the observed values.

        Args:
            train_output_names: the names of `_filtering_step`'s outputs, but "loss".
            predict_output_names: the names of `_prediction_step`'s outputs.
            num_features: the number of values of a step.
            normalize_features: whether the model gets values in units of the series' deviation;
                `_scale_back_predictions` must then be defined.
            dtype: the dtype of values and outputs.
            exogenous_feature_columns: columns of further features.
            exogenous_update_condition: a function of the times and of the further features of a
                step that says, for each series of a batch, whether these features change the
                state; None: always.
            static_unrolling_window_size_threshold: windows of up to so many steps are unrolled;
                None: none is.
        """

        def __init__(
            self,
            train_output_names: Sequence[str],
            predict_output_names: Sequence[str],
            num_features: int,
            normalize_features: bool = False,
            dtype: tf.DType = tf.float32,
            exogenous_feature_columns: Any = None,
            exogenous_update_condition: Callable[..., tf.Tensor] | None = None,
            static_unrolling_window_size_threshold: int | None = None,
        ) -> None:
            super().__init__(
                num_features=num_features,
                dtype=dtype,
                exogenous_feature_columns=exogenous_feature_columns,
            )
            self._train_output_names = list(train_output_names)
            self._predict_output_names = list(predict_output_names)
            self._normalize_features = normalize_features
            self._exogenous_update_condition = exogenous_update_condition
            self._static_unrolling_window_size_threshold = static_unrolling_window_size_threshold

        def _scale_back_predictions(self, predictions: Any) -> Any:
            raise NotImplementedError(
                f"{type(self).__name__} has normalize_features=True, but no "
                "_scale_back_predictions. Define this method: it returns the predictions in "
                "units of the series."
            )

        @abc.abstractmethod
        def _filtering_step(
            self, current_times: Any, current_values: Any, state: Any, predictions: Any
        ) -> tuple[Any, dict[str, Any]]:
            """Returns the state after the observed values, and outputs with their "loss"."""

        @abc.abstractmethod
        def _prediction_step(self, current_times: Any, state: Any) -> tuple[Any, dict[str, Any]]:
            """Returns the state at these times, and the predicted outputs."""

        @abc.abstractmethod
        def _imputation_step(self, current_times: Any, state: Any) -> Any:
            """Returns the state just before these times, where times before them are missing."""

        @abc.abstractmethod
        def _exogenous_input_step(
            self, current_times: Any, current_exogenous_regressors: Any, state: Any
        ) -> Any:
            """Returns the state that further features have changed."""

        def _loss_additions(self, times: Any, values: Any, mode: str) -> Any:
            """Returns a term that is added to the mean loss of a step, such as a regularizer."""
            del times, values, mode
            return 0.0

        def _window_initializer(self, times: Any, state: Any) -> None:
            """Called before the first step of a window."""

        def get_batch_loss(self, features: Mapping[str, Any], mode: str, state: Any) -> Any:
            """Returns the loss of the windows, the state after them, and the predictions."""
            loss, states, outputs = self.per_step_batch_loss(features, mode, state)
            outputs["observed"] = features[keys.TrainEvalFeatures.VALUES]
            return library.ModelOutputs(
                loss=loss,
                end_state=tf.nest.map_structure(lambda of_steps: of_steps[:, -1], states),
                predictions=outputs,
                prediction_times=features[keys.TrainEvalFeatures.TIMES],
            )

        def per_step_batch_loss(
            self, features: Mapping[str, Any], mode: str, state: Any
        ) -> tuple[Any, Any, dict[str, Any]]:
            """Returns the mean loss, the state after each step, and the outputs of each step."""
            self._check_graph_initialized()
            times = tf.cast(features[keys.TrainEvalFeatures.TIMES], tf.int64)
            values = tf.cast(features[keys.TrainEvalFeatures.VALUES], self.dtype)
            if self._normalize_features:
                values = self._scale_data(values)
            changed = self._exogenous_change(times, features)

            def step(number: tf.Tensor, now: tf.Tensor, state: Any) -> tuple[Any, Any]:
                state, predictions = self._prediction_step(
                    current_times=now, state=changed(number, now, state)
                )
                return self._filtering_step(
                    current_times=now,
                    current_values=values[:, number, :],
                    state=state,
                    predictions=predictions,
                )

            names = ["loss", *self._train_output_names]
            states, outputs = self._walk(times, state, step, names)
            loss = tf.reduce_sum(outputs.pop("loss")) / tf.cast(tf.size(times), self.dtype)
            loss += self._loss_additions(times, values, mode)
            return loss, states, self._in_units(outputs)

        def predict(self, features: Mapping[str, Any]) -> dict[str, Any]:
            """Returns the predicted outputs of each of the times."""
            times = tf.convert_to_tensor(features[keys.PredictionFeatures.TIMES], tf.int64)
            changed = self._exogenous_change(times, features)

            def step(number: tf.Tensor, now: tf.Tensor, state: Any) -> tuple[Any, Any]:
                return self._prediction_step(current_times=now, state=changed(number, now, state))

            start = features[keys.PredictionFeatures.STATE_TUPLE]
            _, outputs = self._walk(times, start, step, self._predict_output_names)
            return self._in_units(outputs)

        def _in_units(self, outputs: dict[str, Any]) -> dict[str, Any]:
            return self._scale_back_predictions(outputs) if self._normalize_features else outputs

        def _exogenous_change(
            self, times: tf.Tensor, features: Mapping[str, Any]
        ) -> Callable[[tf.Tensor, tf.Tensor, Any], Any]:
            """A function of a step and a state that returns the state after further features."""
            raw = {name: value for name, value in features.items() if name not in own}
            embedded = self._process_exogenous_features(times=times, features=raw)
            condition = self._exogenous_update_condition

            def change(number: tf.Tensor, now: tf.Tensor, state: Any) -> Any:
                if embedded is None:
                    return state
                after = self._exogenous_input_step(
                    current_times=now,
                    current_exogenous_regressors=embedded[:, number, :],
                    state=state,
                )
                if condition is None:
                    return after
                of_step = {name: value[:, number] for name, value in raw.items()}
                wanted = condition(times=now, features=of_step)
                chosen = [
                    tf.where(wanted, new, old)
                    for new, old in zip(tf.nest.flatten(after), tf.nest.flatten(state), strict=True)
                ]
                return tf.nest.pack_sequence_as(state, chosen)

            return change

        def _walk(
            self, times: tf.Tensor, state: Any, step: _Step, names: Sequence[str]
        ) -> tuple[Any, dict[str, Any]]:
            """Takes the steps of a window; returns states and outputs, time in dimension 1."""
            self._window_initializer(times, state)
            size = times.shape.as_list()[1]
            limit = self._static_unrolling_window_size_threshold
            structure = state

            def one(number: Any, flat: Sequence[tf.Tensor], reuse: bool) -> tuple[Any, Any]:
                with tf.variable_scope("state_update_step", reuse=reuse):
                    now = times[:, number]
                    before = tf.nest.pack_sequence_as(structure, list(flat))
                    before = self._imputation_step(current_times=now, state=before)
                    after, outputs = step(number, now, before)
                made = tf.nest.flatten(after)
                for new, old in zip(made, flat, strict=True):
                    new.set_shape(old.shape)
                return made, [outputs[name] for name in names]

            first = tf.nest.flatten(state)
            if None not in (size, limit) and size <= limit:
                states, outputs = _unrolled(one, first, size)
            else:
                dtypes = [value.dtype for value in first] + [self.dtype] * len(names)
                states, outputs = _looped(one, first, tf.shape(times)[1], dtypes)
            for name, output in zip(names, outputs, strict=True):
                if name == "loss":
                    output.set_shape(times.shape)
            packed = tf.nest.pack_sequence_as(structure, states)
            return packed, dict(zip(names, outputs, strict=True))

    return SequentialTimeSeriesModel


def _unrolled(one: Any, flat: Sequence[tf.Tensor], size: int) -> tuple[list[Any], list[Any]]:
    states, outputs = [], []
    for number in range(size):
        flat, made = one(tf.constant(number), flat, number > 0)
        states.append(flat)
        outputs.append(made)
    return _beside(states), _beside(outputs)


def _beside(of_steps: Sequence[Sequence[tf.Tensor]]) -> list[tf.Tensor]:
    return [tf.stack(values, axis=1) for values in zip(*of_steps, strict=True)]


def _looped(
    one: Any, first: Sequence[tf.Tensor], size: tf.Tensor, dtypes: Sequence[tf.DType]
) -> tuple[list[Any], list[Any]]:
    def body(number: tf.Tensor, flat: Any, arrays: Any) -> tuple[Any, Any, Any]:
        after, outputs = one(number, flat, False)
        written = [
            array.write(number, value)
            for array, value in zip(arrays, [*after, *outputs], strict=True)
        ]
        return number + 1, after, written

    arrays = [tf.TensorArray(dtype, size=size) for dtype in dtypes]
    _, _, arrays = tf.while_loop(
        lambda number, *_: number < size, body, [tf.constant(0), list(first), arrays]
    )
    stacked = [_steps_second(array.stack()) for array in arrays]
    return stacked[: len(first)], stacked[len(first) :]


def _steps_second(value: tf.Tensor) -> tf.Tensor:
    others = tf.range(2, tf.rank(value))
    return tf.transpose(value, tf.concat([[1, 0], others], axis=0))
