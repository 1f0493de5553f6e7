"""Restores state beside variables: tables, and the positions of iterators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.reader import Stored, stored, unreadable
from moxing.engine.checkpoint.restoring.filters import Filter, some
from moxing.engine.graph import saveables
from moxing.logs import TENSORFLOW


class ObjectRestorer:
    """Restores the current graph's saveable objects. Make it before the graph is finalized.

    An object that the checkpoint lacks keeps the state that it begins with, and a warning says so:
    checkpoints of earlier versions hold variables only. The position of an iterator is restored
    only where a training goes on.

    Args:
        checkpoint: from `choose`, `locate` or `newest`.
        goes_on: whether this is a training that goes on where it stopped.
        include, exclude: patterns of names to restore and not to restore, where the checkpoint is
            another run's.

    Attributes:
        iterators: whether the position of an iterator is restored.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        goes_on: bool,
        include: str | Iterable[str] = (),
        exclude: str | Iterable[str] = (),
    ) -> None:
        self._prefix = checkpoint.prefix
        self.iterators = False
        self._operation: tf.Operation | None = None
        wanted = Filter() if checkpoint.resume else Filter(include, exclude)
        objects = [
            item
            for item in saveables.of_graph()
            if wanted.wants(item.name) and (goes_on or not saveables.is_iterator(item))
        ]
        if not objects:
            return
        known = stored(checkpoint.prefix)
        present = [item for item in objects if saveables.names([item]) <= set(known.shapes)]
        if lacking := [item.name for item in objects if item not in present]:
            TENSORFLOW.warning(
                "Checkpoint %s has no state of %s, so this run begins with its first state.",
                checkpoint.prefix,
                some(lacking),
            )
        self.iterators = any(saveables.is_iterator(item) for item in present)
        self._operation = _build(known, present)

    def run(self, session: tf.Session) -> None:
        """Gives the objects their state; iterators must be initialized before.

        Raises:
            CheckpointError: the file was damaged or removed, or an iterator's dataset differs from
                the dataset whose iterator was saved.
        """
        if self._operation is None:
            return
        try:
            session.run(self._operation)
        except tf.errors.OpError as error:
            raise unreadable(self._prefix, error) from error


def _build(source: Stored, objects: Sequence[Any]) -> tf.Operation:
    copies = saveables.copies()
    operations: list[Any] = []
    with tf.control_dependencies(None), tf.name_scope("restore_objects"):
        for item in objects:
            with tf.device("/cpu:0"):
                values = tf.raw_ops.RestoreV2(
                    prefix=tf.constant(source.prefix),
                    tensor_names=[spec.name for spec in item.specs],
                    shape_and_slices=[spec.slice_spec for spec in item.specs],
                    dtypes=[source.dtypes[spec.name] for spec in item.specs],
                )
            operations += [
                same.restore(values, None) for same in (item, *copies.get(item.name, ()))
            ]
    return tf.group(*operations)
