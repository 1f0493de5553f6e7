"""State beside variables that `tf.train.Saver` saves: tables and iterators in SAVEABLE_OBJECTS."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.data.ops.iterator_ops import _IteratorSaveable

from moxing.engine.graph import run_context


def of_graph() -> tuple[Any, ...]:
    """The saveable objects of the current graph: those of the first replica, and of input_fn."""
    unique = {item.name: item for item in tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)}
    return tuple(unique.values())


def keep_copies(objects: Iterable[Any]) -> None:
    """Notes the saveable objects of a replica after the first, in the order of their making."""
    run_context.current().saveable_copies.append(tuple(objects))


def copies() -> dict[str, list[Any]]:
    """The objects of later replicas, by the name of the first replica's object."""
    found: dict[str, list[Any]] = {}
    first = [item for item in of_graph() if not is_iterator(item)]
    for replica in run_context.current().saveable_copies:
        # input_fn has made its objects before a model makes any.
        for item, copy in zip(first[len(first) - len(replica) :], replica, strict=False):
            found.setdefault(item.name, []).append(copy)
    return found


def names(objects: Iterable[Any]) -> set[str]:
    """The names under which a saver stores the parts of saveable objects."""
    return {spec.name for item in objects for spec in item.specs}


def is_iterator(item: Any) -> bool:
    """Whether a saveable object is the position of an iterator."""
    return isinstance(item, _IteratorSaveable)


def follow_iterator(replaced: Iterable[tf.Operation], by: Any, can_be_saved: bool) -> None:
    """Makes the graph save the iterator that a run reads, not the iterators that it replaces.

    Args:
        replaced: operations of iterators that the run does not read.
        by: the iterator that the run reads in their place. It is saved under the first one's name.
        can_be_saved: whether TensorFlow can write the position of `by`.
    """
    old = set(replaced)
    held: list[Any] = tf.get_collection_ref(tf.GraphKeys.SAVEABLE_OBJECTS)
    gone = [item for item in held if is_iterator(item) and item.op.op in old]
    held[:] = [item for item in held if item not in gone]
    if gone and can_be_saved:
        policy = tf.data.experimental.ExternalStatePolicy.IGNORE
        held.append(_IteratorSaveable(by._iterator_resource, gone[0].name, policy))
