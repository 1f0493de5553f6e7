"""Finds losses and variables that are not finite, before a checkpoint with them is saved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.entries import entries
from moxing.engine.wording.option_names import option
from moxing.errors import MoxRuntimeError
from moxing.logs import TENSORFLOW


class NotFiniteError(MoxRuntimeError):
    """A loss or a variable is nan or inf."""


class FiniteVariables:
    """Checks variables before a save. Make it inside the graph, before the graph is finalized.

    An untrained variable that is not finite at the first check, such as a best loss that starts as
    infinity, is not checked again.
    """

    def __init__(self, variables: Sequence[tf.Variable], trained: Sequence[tf.Variable]) -> None:
        floating = [one for one in entries(variables) if one.dtype.is_floating]
        self._names = [one.name for one in floating]
        self._trained = {one.name for one in entries(trained)}
        self._left_alone: set[str] | None = None
        with tf.name_scope(None), tf.device("/cpu:0"):
            checks = [tf.reduce_all(tf.math.is_finite(one.variable)) for one in floating]
            self._finite = tf.stack(checks) if checks else None

    def check(self, session: tf.Session, step: int, last_good: str | None) -> None:
        """Raises if variables that are about to be saved, or that end a run, hold nan or inf.

        Args:
            session: session of the graph.
            step: global step of the values.
            last_good: prefix of the last checkpoint, for the message; None: nothing is saved.

        Raises:
            NotFiniteError: variables hold nan or inf; the message names them.
        """
        if self._finite is None:
            return
        finite = session.run(self._finite)
        self._judge(
            [name for name, good in zip(self._names, finite, strict=True) if not good],
            step,
            last_good,
        )

    def check_copies(self, copies: Iterable[tuple[str, np.ndarray]], step: int, last: str) -> None:
        """Like `check`, of the variables' copies in memory; may run in any thread.

        Args:
            copies: the names, by which checkpoints know the variables, and the values.
            step: global step of the values.
            last: prefix of the last checkpoint, for the message.

        Raises:
            NotFiniteError: variables hold nan or inf; the message names them.
        """
        known = set(self._names)
        self._judge([n for n, array in copies if n in known and not _is_finite(array)], step, last)

    def _judge(self, bad: list[str], step: int, last_good: str | None) -> None:
        bad = list(dict.fromkeys(bad))  # Slices of a variable share its name.
        if self._left_alone is None:
            self._left_alone = set(bad) - self._trained
        bad = [name for name in bad if name not in self._left_alone]
        if bad:
            more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
            noun, verb = ("variable", "holds") if len(bad) == 1 else ("variables", "hold")
            saved = ""
            if last_good is not None:
                saved = f", so the step is not saved. The last checkpoint is {last_good or 'none'}"
            raise NotFiniteError(
                f"at global step {step} the {noun} {', '.join(bad[:3])}{more} {verb} nan or inf"
                f"{saved}. {_cures()}"
            )


def _is_finite(array: np.ndarray) -> bool:
    """Whether all numbers of an array are finite."""
    # The sum makes no array of its own; that of finite numbers may be infinite, too.
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.sum(array))) or bool(np.isfinite(array).all())


def check_losses(step: int, losses: Mapping[str, float]) -> None:
    """Raises if a loss is not finite.

    Args:
        step: global step of the losses.
        losses: values of the losses, by the names of their tensors.

    Raises:
        NotFiniteError: a loss is nan or inf; the message names it.
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
    """Logs a warning for each result of an evaluation that is not finite."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            TENSORFLOW.warning(
                "%s is %s: look for nan or inf in the data, or in the checkpoint's variables, such"
                " as batch-norm statistics.",
                name,
                value,
            )
