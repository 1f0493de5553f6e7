"""Metrics of graph-mode models, as Keras 2 took them: methods, and tensors in a model's lists."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

_WAITING, _TENSORS = "_mox_metric_names", "_mox_metric_tensors"


def install() -> None:
    """From now on any callable is a metric function, and lists of metrics grow; once a process."""
    from tf_keras.src.engine import training_utils_v1, training_v1

    find: Any = training_utils_v1.get_metric_function
    if hasattr(find, "takes_methods"):
        return

    @functools.wraps(find)
    def get_metric_function(*given: Any, **named: Any) -> Any:
        return _with_attributes(find(*given, **named))

    get_metric_function.takes_methods = True  # type: ignore[attr-defined]
    training_utils_v1.get_metric_function = get_metric_function
    names: Any = training_v1.Model.metrics_names
    training_v1.Model.metrics_names = property(lambda model: _Names(names.fget(model), model))


class _Names(list[str]):
    """The names of a model's metrics; a name that is appended is the next tensor's."""

    def __init__(self, names: Iterable[str], model: Any) -> None:
        super().__init__(names)
        self._model = model

    def append(self, name: str) -> None:
        super().append(name)
        vars(self._model).setdefault(_WAITING, []).append(name)


class Tensors(list[Any]):
    """The tensors of a model's metrics: `model.metrics_tensors.append(tensor)` adds one.

    Programs append its name to `model.metrics_names` before.
    """

    def __init__(self, model: Any) -> None:
        super().__init__(vars(model).get(_TENSORS, ()))
        self._model = model

    def append(self, tensor: Any) -> None:
        """Adds a metric: the mean of the tensor over the batches of an epoch."""
        super().append(tensor)
        vars(self._model)[_TENSORS] = list(self)
        waiting = vars(self._model).get(_WAITING)
        name = waiting.pop(0) if waiting else f"metric_{len(self)}"
        self._model.add_metric(tensor, name=name, aggregation="mean")


def _with_attributes(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a metric on which tf_keras can set an attribute, as it can't on a method."""
    if hasattr(metric, "__dict__") and not hasattr(metric, "__self__"):
        return metric

    @functools.wraps(metric)
    def function(y_true: Any, y_pred: Any, **named: Any) -> Any:
        return metric(y_true, y_pred, **named)

    return function
