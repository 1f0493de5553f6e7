"""The metrics of an evaluation, which each step updates and which are read after the last step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown

_LOCAL = (tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES)


@dataclass(frozen=True)
class Metrics:
    """The metrics of a model.

    Attributes:
        values: the tensors to read after the last step, by name, or structures of tensors.
        updates: the tensors that each step runs, by name; most return the value so far.
    """

    values: Mapping[str, Any]
    updates: Mapping[str, tf.Tensor]

    @property
    def scalars(self) -> dict[str, tf.Tensor]:
        """The updates that return one number."""
        numbers = {
            name: update
            for name, update in self.updates.items()
            if isinstance(self.values[name], tf.Tensor) and self.values[name].shape.rank == 0
        }
        return {n: u for n, u in numbers.items() if u.shape.rank == 0 and u.dtype != tf.bool}


def read(eval_metric_ops: Mapping[str, Any] | None) -> Metrics:
    """Returns the metrics of an EstimatorSpec.

    Args:
        eval_metric_ops: by name, a pair (value, update) as from `tf.metrics`, whose value may
            be a structure of tensors, or a Keras metric that was updated.

    Raises:
        MoxTypeError: a metric is neither.
        MoxValueError: a metric has a reserved name, or a Keras metric was never updated.
    """
    values, updates = {}, {}
    for name, metric in (eval_metric_ops or {}).items():
        if name in ("loss", "global_step"):
            raise MoxValueError(
                f"eval_metric_ops has the metric {name!r}: that name is taken. Give it another."
            )
        if hasattr(metric, "update_state") and hasattr(metric, "result"):
            values[name], updates[name] = of_keras(name, metric)
            continue
        if not isinstance(metric, tuple | list) or len(metric) != 2:
            raise MoxTypeError(
                f"eval_metric_ops[{name!r}] is {shown(metric)}; it must be a pair (value, update)"
                " as tf.metrics.accuracy(labels, predictions) returns, or a metric of tf.keras."
            )
        # A list or tuple stays what it is, as its tensors may have several shapes and dtypes.
        values[name] = tf.nest.map_structure(tf.convert_to_tensor, metric[0])
        updates[name] = _as_tensor(metric[1])
    return Metrics(values, updates)


def of_keras(name: str, metric: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns (value, update) of a Keras metric that was updated in the current graph."""
    if not getattr(metric, "updates", None):
        raise MoxValueError(
            f"eval_metric_ops[{name!r}] is a {type(metric).__name__} that was not updated: call"
            " metric.update_state(labels, predictions) in model_fn."
        )
    announce(metric.variables)
    with tf.control_dependencies(list(metric.updates)):
        updated = tf.identity(metric.result())
    return tf.convert_to_tensor(metric.result()), updated


def announce(variables: Any) -> None:
    """Adds Keras metric variables to the collections of local variables and metric variables."""
    for variable in variables:
        for key in _LOCAL:
            if all(variable is not known for known in tf.get_collection(key)):
                tf.add_to_collection(key, variable)


def _as_tensor(update: Any) -> tf.Tensor:
    if isinstance(update, tf.Operation):
        with tf.control_dependencies([update]):
            return tf.constant(True, name="updated")  # A bool, so that `scalars` leaves it out.
    return tf.convert_to_tensor(update)


class ReadMetrics(tf.train.SessionRunHook):
    """A hook that reads the metrics after the last step.

    Args:
        metrics: the metrics of the model.
        results: the dict that the hook fills with arrays by name.
    """

    def __init__(self, metrics: Metrics, results: dict[str, Any]) -> None:
        self._metrics, self._results = metrics, results

    def end(self, session: tf.Session) -> None:
        self._results.update(session.run(dict(self._metrics.values)))
