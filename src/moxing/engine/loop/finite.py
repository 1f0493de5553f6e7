"""Notices values that are not finite before they are saved, and says where they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import tensorflow.compat.v1 as tf

from moxing.engine.wording.option_names import option
from moxing.errors import MoxRuntimeError
from moxing.logs import TENSORFLOW


class NotFiniteError(MoxRuntimeError):
    """A loss or a variable is nan or inf."""


class FiniteVariables:
    """Checks what is saved; made inside the graph before it is final.

    A variable that is not trained may start out as infinite on purpose, such as the best loss so
    far; it is then left alone.
    """

    def __init__(self, variables: Sequence[tf.Variable], trained: Sequence[tf.Variable]) -> None:
        floating = [v for v in variables if v.dtype.base_dtype.is_floating]
        self._names = [variable.name.split(":")[0] for variable in floating]
        self._trained = {variable.name.split(":")[0] for variable in trained}
        self._left_alone: set[str] | None = None
        with tf.name_scope(None), tf.device("/cpu:0"):
            checks = [tf.reduce_all(tf.math.is_finite(variable)) for variable in floating]
            self._finite = tf.stack(checks) if checks else None

    def check(self, session: tf.Session, step: int, last_good: str) -> None:
        """Raises before a step with poisoned variables is saved.

        Args:
            session: of the graph.
            step: global step of the values.
            last_good: prefix of the last checkpoint, for the message.

        Raises:
            NotFiniteError: naming variables that hold nan or inf.
        """
        if self._finite is None:
            return
        finite = session.run(self._finite)
        bad = [name for name, good in zip(self._names, finite, strict=True) if not good]
        if self._left_alone is None:
            self._left_alone = set(bad) - self._trained
        bad = [name for name in bad if name not in self._left_alone]
        if bad:
            more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
            raise NotFiniteError(
                f"at global step {step} the variable {', '.join(bad[:3])}{more} holds nan or inf,"
                f" so the step is not saved. The last checkpoint is {last_good or 'none'}."
                f" {_cures()}"
            )


def check_losses(step: int, losses: Mapping[str, float]) -> None:
    """Raises where a loss is not finite.

    Args:
        step: global step the losses are of.
        losses: values by name of their tensor.

    Raises:
        NotFiniteError: naming the loss.
    """
    for name, value in losses.items():
        if not math.isfinite(value):
            raise NotFiniteError(f"the loss {name} is {value} at global step {step}. {_cures()}")


def _cures() -> str:
    scale = option("--loss_scale")
    return (
        "Lower the learning rate, clip gradients, or look for a logarithm or division of 0; in 16"
        f" bits keep the loss in float32{f' and set {scale}' if scale else ''}."
    )


def warn_of_metrics(metrics: Mapping[str, float]) -> None:
    """Says that a result of an evaluation is not finite."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            TENSORFLOW.warning(
                "%s is %s: look for nan or inf in the data, or in the checkpoint's variables, such"
                " as batch-norm statistics.",
                name,
                value,
            )
