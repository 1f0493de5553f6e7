"""Values of an update that log lines show on request: learning rates and norms of gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import tensorflow.compat.v1 as tf

from moxing.engine.graph import run_context
from moxing.engine.model import clipping, learning_rate
from moxing.logs import TENSORFLOW

RATE: Final = "learning_rate"
NORM: Final = "gradient_norm"


def keep_gradients(of_losses: Sequence[Sequence[Any]]) -> None:
    """Keeps the mean gradients of each loss in the graph, before they are clipped."""
    run_context.current().gradients = [list(gradients) for gradients in of_losses]


def logged(names: Sequence[str], taken: Mapping[str, Any]) -> dict[str, tf.Tensor]:
    """The scalars that a training logs beside its own values.

    Args:
        names: the requested values: `RATE`, `NORM` or both.
        taken: the values that the program logs, whose names are the program's.

    Returns:
        `learning_rate` and `gradient_norm`, in the order of `names`; `learning_rate_1` and so on
        for the further losses or optimizers of a model.
    """
    makers = {RATE: learning_rate.shown, NORM: _norms}
    found: dict[str, tf.Tensor] = {}
    for name in names:
        made = makers[name]()
        if not made:
            TENSORFLOW.warning(
                "%s is not in the log lines: openmox can't read it from this optimizer.", name
            )
        found |= {key: value for key, value in made.items() if key not in taken}
    return found


def _norms() -> dict[str, tf.Tensor]:
    of_losses = run_context.current().gradients
    with tf.control_dependencies(None):
        return {
            NORM + (f"_{number}" if number else ""): clipping.global_norm(gradients)
            for number, gradients in enumerate(of_losses)
            if gradients
        }
