"""Lets methods be metrics of graph-mode models, as in Keras 2: `metrics=[crf.accuracy]`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def install() -> None:
    """From now on any callable is a metric function; once a process."""
    from tf_keras.src.engine import training_utils_v1

    find: Any = training_utils_v1.get_metric_function
    if hasattr(find, "takes_methods"):
        return

    @functools.wraps(find)
    def get_metric_function(*given: Any, **named: Any) -> Any:
        return _with_attributes(find(*given, **named))

    get_metric_function.takes_methods = True  # type: ignore[attr-defined]
    training_utils_v1.get_metric_function = get_metric_function


def _with_attributes(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a metric on which tf_keras can set an attribute, as it can't on a method."""
    if hasattr(metric, "__dict__") and not hasattr(metric, "__self__"):
        return metric

    @functools.wraps(metric)
    def function(y_true: Any, y_pred: Any, **named: Any) -> Any:
        return metric(y_true, y_pred, **named)

    return function
