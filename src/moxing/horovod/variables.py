"""Broadcasts the variables of one process to all processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from moxing.errors import MoxRuntimeError
from moxing.horovod import world
from moxing.horovod.operations import broadcast_all


def broadcast_variables(variables: Iterable[Any], root_rank: int, **others: Any) -> Any:
    """Assigns the values of process `root_rank` to the variables in all processes.

    Args:
        variables: variables of TensorFlow or Keras, in the same order in all processes.
        root_rank: the rank of the process whose values are used.
        **others: not used.

    Returns:
        In graph mode, the operation that assigns the values; in eager mode, None.
    """
    del others
    held = [getattr(v, "value", v) if hasattr(v, "path") else v for v in variables]
    if not tf.executing_eagerly():
        values = broadcast_all(held, root_rank, "variables") if held else []
        pairs = zip(held, values, strict=True)
        return tf.group(*(tf.compat.v1.assign(variable, value) for variable, value in pairs))
    if world.size() > 1 and held:
        for variable, value in zip(held, broadcast_all(held, root_rank, "variables"), strict=True):
            variable.assign(value)
    return None


def broadcast_global_variables(root_rank: int) -> Any:
    """Returns an operation that assigns process `root_rank`'s values to all global variables.

    Raises:
        MoxRuntimeError: eager execution is on, so there is no graph.
    """
    if tf.executing_eagerly():
        raise MoxRuntimeError(
            "hvd.broadcast_global_variables() needs a graph. Use"
            " hvd.broadcast_variables(model.variables, root_rank=0) where operations run at once."
        )
    return broadcast_variables(tf.compat.v1.global_variables(), root_rank)


class BroadcastGlobalVariablesHook(tf.compat.v1.train.SessionRunHook):
    """A hook that broadcasts all variables of one process after the session is created.

    Args:
        root_rank: the rank of the process whose values are used.
        device: not used.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        del device
        self._root, self._op = root_rank, None

    def begin(self) -> None:
        """Builds the broadcast."""
        self._op = broadcast_global_variables(self._root)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Runs the broadcast."""
        del coord
        session.run(self._op)
