"""Restores the variables of a graph from a checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.entries import Entry, entries, flat
from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.reader import Stored, stored, unreadable
from moxing.engine.checkpoint.restoring.filters import Filter, some
from moxing.engine.checkpoint.restoring.plan import Match, resume_plan, warm_plan, with_averages
from moxing.logs import TENSORFLOW


@dataclass(frozen=True)
class Foreign:
    """The choice of variables that a run takes from a checkpoint of another run.

    Attributes:
        include, exclude: patterns of variables to restore and not to restore: see `Filter`.
        optional: variables that the checkpoint may lack: optimizer slots. It may always lack the
            global step.
    """

    include: str | Iterable[str] = ()
    exclude: str | Iterable[str] = ()
    optional: Collection[Any] = ()


class Restorer:
    """Operations that restore variables. Make it inside the graph, before the graph is finalized.

    Args:
        checkpoint: from `choose`, `locate` or `newest`.
        variables: variables of the current graph, each of which is restored or listed in
            `initialized`. Partitioned variables may be given whole or as slices.
        foreign: the choice of variables where the run starts from another run's weights; None: the
            run continues, so every variable must be in the checkpoint.
        averaged: whether variables get their moving averages where the checkpoint has them.

    Attributes:
        restored: the variables that `run` assigns values to.
        initialized: the others; the caller initializes them.

    Raises:
        CheckpointError: the checkpoint can't be read, or does not fit the variables.
        MoxValueError: a pattern is not a regular expression.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        variables: Iterable[Any],
        *,
        foreign: Foreign | None,
        averaged: bool = False,
    ) -> None:
        self._prefix = checkpoint.prefix
        found, known = stored(checkpoint.prefix), entries(variables)
        if foreign is None:
            plan = resume_plan(found, known)
        else:
            slots = {id(variable) for variable in flat(foreign.optional)}
            plan = warm_plan(found, known, Filter(foreign.include, foreign.exclude), slots)
        if averaged:
            plan.matches = with_averages(found, plan.matches)
        self.restored: tuple[tf.Variable, ...] = tuple(m.entry.variable for m in plan.matches)
        self.initialized: tuple[tf.Variable, ...] = tuple(e.variable for e in plan.initialized)
        self._names_initialized = [entry.name for entry in plan.initialized]
        self._operation = _build(found, plan.matches)

    def run(self, session: tf.Session) -> None:
        """Gives the variables in `restored` their values, in one session call.

        Raises:
            CheckpointError: the file was damaged or removed in the meantime.
        """
        TENSORFLOW.info("Restoring parameters from %s", self._prefix)
        if self._names_initialized:
            TENSORFLOW.info("Initializing, not restoring: %s", some(self._names_initialized))
        try:
            session.run(self._operation)
        except (
            tf.errors.DataLossError,
            tf.errors.NotFoundError,
            tf.errors.OutOfRangeError,
        ) as error:
            raise unreadable(self._prefix, error) from error


def _build(source: Stored, matches: Sequence[Match]) -> tf.Operation:
    with tf.control_dependencies(None), tf.name_scope("restore"):
        if not matches:
            return tf.no_op()
        with tf.device("/cpu:0"):
            values = tf.raw_ops.RestoreV2(
                prefix=tf.constant(source.prefix),
                tensor_names=[match.source for match in matches],
                shape_and_slices=[match.entry.slice_spec for match in matches],
                dtypes=[source.dtypes[match.source] for match in matches],
            )
            values = [tf.cast(v, m.entry.dtype) for v, m in zip(values, matches, strict=True)]
        return tf.group(*(_assign(m.entry, v) for v, m in zip(values, matches, strict=True)))


def _assign(entry: Entry, value: tf.Tensor) -> tf.Operation:
    variable = entry.variable
    if variable.dtype._is_ref_dtype:
        assigned = tf.assign(variable, value, validate_shape=entry.shape is not None)
        return assigned.op
    return variable.assign(value, read_value=False)
