"""Checks the metrics of evaluation hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxKeyError, MoxTypeError, near_matches, shown


def checked(owner: str, monitor_info: Any) -> dict[str, tf.Tensor]:
    """Returns the tensors of a hook by name.

    Raises:
        MoxTypeError: monitor_info is not a dict of scalar tensors.
    """
    if not isinstance(monitor_info, Mapping) or not monitor_info:
        raise MoxTypeError(f"{owner}: monitor_info must be a dict of scalar tensors by name.")
    for name, tensor in monitor_info.items():
        if not isinstance(tensor, tf.Tensor) or tensor.shape.rank not in (0, None):
            raise MoxTypeError(
                f"{owner}: monitor_info[{name!r}] is {tensor!r}; it must be a scalar tensor."
            )
    return dict(monitor_info)


def check(owner: str, monitor: Any, monitor_info: Any, argument: str = "monitor") -> None:
    """Raises a MoxKeyError that lists the known names unless `monitor` is one of them."""
    names = checked(owner, monitor_info)
    if monitor not in names:
        raise MoxKeyError(
            f"{owner}: {argument}={monitor!r} is not in monitor_info, which has"
            f" {', '.join(names)}.{near_matches(str(monitor), names)}"
        )


def best_metric(owner: str, save_best: Any, monitor_info: Mapping[str, Any]) -> str | None:
    """Returns the name of the metric whose best checkpoint is kept; None: no checkpoint.

    Raises:
        MoxTypeError: save_best is neither a name nor a bool, or is True with several metrics.
        MoxKeyError: save_best is not in monitor_info.
    """
    if save_best is False or save_best is None:
        return None
    if save_best is True and len(monitor_info) == 1:
        return next(iter(monitor_info))
    if not isinstance(save_best, str):
        raise MoxTypeError(
            f"{owner}: save_best is {shown(save_best)}; give the name of a metric in monitor_info,"
            f" which has {', '.join(monitor_info)}."
        )
    check(owner, save_best, monitor_info, "save_best")
    return save_best
