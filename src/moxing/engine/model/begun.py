"""Marks in each step the point at which its data has come, and before which it changes no state.

A step that waits for data can't be told to give up. But while it has changed nothing, another call
in the same session can save the variables as the last finished step left them. Among processes that
update together, a step waits for the data of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import control_flow_util

from moxing.engine.graph import ancestry

_WAITS = ("IteratorGetNext", "Dequeue", "PyFunc", "Unstage", "ReaderRead")
# Parts of the types of operations whose handles stand for data, not for state of a model.
_DATA = ("Iterator", "Queue", "Reader", "TensorArray", "Stack", "SummaryWriter", "Stage")
_READS = (
    *("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp"),
    *("VariableShape", "LookupTableFindV2", "LookupTableSizeV2", "LookupTableExportV2"),
    *("Identity", "IsVariableInitialized", "DisableCopyOnRead"),
)


@dataclass(frozen=True)
class Begun:
    """The number of steps in a session whose data has come.

    Attributes:
        steps: this number, an int64 scalar.
        guards: whether a step changes no state before it is counted.
    """

    steps: tf.Tensor
    guards: bool


def mark(
    step: tf.Operation, data: Sequence[tf.Operation], others: tf.Tensor | None = None
) -> Begun | None:
    """Has each step count itself when its data has come, before it changes any state.

    Args:
        step: runs the last session call of a step.
        data: the operations that give the model its data.
        others: a tensor that is computed once the other processes have data for the step too; None:
            the step does not wait for other processes.

    Returns:
        The count; None: a step waits for nothing.
    """
    waited = [*data, *([others.op] if others is not None else [])]
    before = {op.name: op for op in ancestry.behind(waited)}
    if others is None and not any(part in op.type for op in before.values() for part in _WAITS):
        return None
    changes = [op for op in ancestry.behind([step]) if _changes_state(op)]
    in_loop = any(control_flow_util.GetContainingWhileContext(_context(op)) for op in changes)
    guards = not in_loop and not any(op.name in before for op in changes)
    held = {op.name: op for op in (step, *(changes if guards else ()))}
    return Begun(_counted(waited, held.values()), guards)


def _counted(waited: Iterable[tf.Operation], changes: Iterable[tf.Operation]) -> tf.Tensor:
    with tf.device("/cpu:0"), tf.control_dependencies(None), tf.name_scope(None):
        count = tf.get_variable(
            "openmox/begun",
            shape=[],
            dtype=tf.int64,
            initializer=tf.zeros_initializer(),
            trainable=False,
            use_resource=True,
            collections=[tf.GraphKeys.LOCAL_VARIABLES],
        )
        with tf.control_dependencies(list(waited)):
            counts = count.assign_add(1, read_value=False)
        for op in changes:
            op._add_control_input(counts)
        return count.read_value()


def _changes_state(op: tf.Operation) -> bool:
    """Whether an operation may change a variable or a table."""
    if op.type in _READS or op.type.startswith(("Switch", "RefSwitch", "Merge", "Enter", "Exit")):
        return False
    if any(tensor.dtype._is_ref_dtype for tensor in op.inputs):
        return True
    return bool(op.op_def.is_stateful) and any(
        tensor.dtype == tf.resource and not any(part in tensor.op.type for part in _DATA)
        for tensor in op.inputs
    )


def _context(op: tf.Operation) -> object:
    return op._get_control_flow_context()
