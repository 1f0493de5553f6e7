"""Averages checkpoints into one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moxing.errors import CheckpointError, MoxValueError
from moxing.runs.checkpoints.source import Values


def average(given: Sequence[Values]) -> Values:
    """Returns the mean of the values of checkpoints, all of equal weight, computed in float64.

    Only floating-point variables have a mean. Other variables, such as the global step, get the
    values of the checkpoint with the highest step.

    Raises:
        MoxValueError: fewer than two checkpoints.
        CheckpointError: a variable is missing in a checkpoint, or has another shape or type there.
    """
    if len(given) < 2:
        raise MoxValueError("An average needs two checkpoints or more.")
    newest = max(given, key=lambda values: values.step or 0)
    for values in given:
        _refuse_other(newest, values)
    arrays = {name: _mean(name, array, given) for name, array in newest.arrays.items()}
    return Values(" + ".join(values.path for values in given), arrays, newest.step)


def _mean(name: str, newest: np.ndarray, given: Sequence[Values]) -> np.ndarray:
    if not np.issubdtype(newest.dtype, np.inexact) and newest.dtype.name != "bfloat16":
        return newest
    wide = np.complex128 if newest.dtype.kind == "c" else np.float64
    total = np.zeros(newest.shape, wide)
    for values in given:
        total += values.arrays[name]
    return (total / len(given)).astype(newest.dtype)


def _refuse_other(one: Values, other: Values) -> None:
    odd = sorted(set(one.arrays) ^ set(other.arrays))
    if odd:
        raise CheckpointError(
            f"{one.path} and {other.path} don't have the same variables: {', '.join(odd[:5])}"
            f"{', ...' if len(odd) > 5 else ''}. Average checkpoints of one model."
        )
    for name, array in one.arrays.items():
        found = other.arrays[name]
        if (found.shape, found.dtype) != (array.shape, array.dtype):
            raise CheckpointError(
                f"Variable {name} is {array.dtype} {list(array.shape)} in {one.path} and"
                f" {found.dtype} {list(found.shape)} in {other.path}. Average checkpoints of one"
                " model."
            )
