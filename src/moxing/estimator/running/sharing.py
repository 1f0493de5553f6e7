"""Sends the results of the chief's evaluation to every worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from moxing.engine.job.placement import ProcessGroup
from moxing.engine.process import team

_KEY = "estimator's evaluation"
_LIMIT_SECONDS = 3600.0  # Time for the chief to start and finish the evaluation.

_inside = ContextVar("inside a training", default=False)


@contextmanager
def training() -> Iterator[None]:
    """In the block, nothing is shared: hooks may run in one process only, or at different times."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


def of_chief(group: ProcessGroup, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Calls `make` in the chief, and returns its result in every worker.

    Inside a training, `make` is called in this process, and its result is not shared.

    Args:
        group: the processes of the job. In a parameter server, this function does not return.
        make: returns numbers and arrays by name.

    Raises:
        MoxRuntimeError: the chief sent no result in time.
        PeerFailureError: the chief failed or was lost.
    """
    if group.alone or _inside.get():
        return make()
    crew = team.enter(group)
    if not crew.cluster.is_chief:
        return _decoded(crew.member.broadcast(_KEY, None, _LIMIT_SECONDS))
    made = make()
    crew.member.broadcast(_KEY, _encoded(made), _LIMIT_SECONDS)
    return made


def _encoded(values: Mapping[str, Any]) -> dict[str, Any]:
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return {name: [array.dtype.str, array.tolist()] for name, array in arrays.items()}


def _decoded(values: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: np.array(value, dtype) for name, (dtype, value) in values.items()}
    return {name: array if array.ndim else array[()] for name, array in made.items()}
