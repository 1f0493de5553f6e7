"""Variables of one process, in all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from moxing.errors import MoxRuntimeError
from moxing.horovod import world
from moxing.horovod.operations import broadcast_all


def broadcast_variables(variables: Iterable[Any], root_rank: int, **others: Any) -> Any:
    """Gives the variables the values of one process.

    Args:
        variables: in the same order in all processes; of TensorFlow or of Keras.
        root_rank: of that process.
        **others: not used.

    Returns:
        In a graph, the operation that does it.
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
    """The operation that gives all variables of the graph the values of one process.

    Raises:
        MoxRuntimeError: there is no graph.
    """
    if tf.executing_eagerly():
        raise MoxRuntimeError(
            "hvd.broadcast_global_variables() needs a graph. Use"
            " hvd.broadcast_variables(model.variables, root_rank=0) where operations run at once."
        )
    return broadcast_variables(tf.compat.v1.global_variables(), root_rank)


class BroadcastGlobalVariablesHook(tf.compat.v1.train.SessionRunHook):
    """Gives all variables the values of one process once the session is there.

    Args:
        root_rank: of that process.
        device: not used.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        del device
        self._root, self._op = root_rank, None

    def begin(self) -> None:
        """As of a hook."""
        self._op = broadcast_global_variables(self._root)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """As of a hook."""
        del coord
        session.run(self._op)
