"""Finds logged values that TensorFlow's streaming metrics (`tf.metrics`) accumulate themselves.

Such a metric has two results: a value, which reads its variables, and an update, which adds a batch
to them and gives the value after that. Both results are over all batches so far, so they must not
be averaged over batches again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry
from moxing.errors import MoxValueError

_READS = ("VarHandleOp", "ReadVariableOp", "VariableV2")


def names(log: Mapping[str, tf.Tensor]) -> frozenset[str]:
    """Returns the names of the values that streaming metrics compute."""
    variables = _variables()
    return frozenset(name for name, tensor in log.items() if _among(variables, tensor))


def readable(log: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Returns the values that a session can read without taking another batch."""
    return {
        name: tensor
        for name, tensor in log.items()
        if not any(_acts(op) for op in ancestry.behind([tensor]))
    }


def check(log: Mapping[str, tf.Tensor], run: Iterable[tf.Tensor | tf.Operation]) -> None:
    """Raises an error if a logged metric is never updated.

    Args:
        log: scalars by name.
        run: all that a step runs.

    Raises:
        MoxValueError: a metric is never updated; the message names its value.
    """
    variables = _variables()
    if not variables:
        return
    updated = {
        tensor.op.name
        for op in ancestry.behind(run)
        if "Assign" in op.type or "Scatter" in op.type
        for tensor in op.inputs
    }
    for name, tensor in log.items():
        read = _among(variables, tensor)
        if read and not read & updated:
            raise MoxValueError(
                f"log_info[{name!r}] is the value of a streaming metric ({tensor.name}) that no"
                " step updates, so it would never change. Give the metric's second result, the"
                " update: tf.metrics.accuracy(...)[1]."
            )


def _variables() -> set[str]:
    return {variable.op.name for variable in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)}


def _among(variables: set[str], tensor: tf.Tensor) -> set[str]:
    return variables & {op.name for op in ancestry.behind([tensor])} if variables else set()


def _acts(op: tf.Operation) -> bool:
    """Whether running the operation changes something, takes data, or needs a feed."""
    kind = op.type
    if kind in _READS:
        return False
    return op.op_def.is_stateful or "Assign" in kind or "Scatter" in kind or "Placeholder" in kind
