"""Gives the engine optimizers that replay the gradients and updates of a model function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry
from moxing.engine.model import learning_rate
from moxing.errors import MoxNotSupportedError, MoxValueError
from moxing.estimator.modeling.capture import Update


class Updates:
    """The updates of a training run, one list for each device's call of the model function.

    `optimizer_fn` is one of a job's optimizer functions: the engine calls it once for each loss, in
    the order of the updates.

    Args:
        alone: whether one device of one process trains, batch by batch. Then a train_op may consist
            of operations of any kind, as there is nothing to share.
    """

    def __init__(self, alone: bool = False) -> None:
        self._alone = alone
        self._graph: tf.Graph | None = None
        self._calls: list[tuple[list[Update], Any]] = []
        self._made = 0

    def begin(self) -> int:
        """Starts a call of the model function; returns its index within the current graph.

        A run may build its graph more than once, for example to find the best placement.
        """
        graph = tf.get_default_graph()
        if graph is not self._graph:
            self._graph, self._calls, self._made = graph, [], 0
        return len(self._calls)

    def add(self, updates: list[Update], train_op: Any) -> int:
        """Records one call's updates and train_op; returns the number of updates, one a loss.

        Raises:
            MoxNotSupportedError: the call made no update with an optimizer, and several devices,
                processes or batches would have to share the update.
            MoxValueError: the first device's call made another number of updates.
        """
        if not updates and self._alone:
            updates = [_without_gradients()]
        if not updates:
            raise MoxNotSupportedError(
                "model_fn's train_op has no update of an optimizer. Make it with minimize() or"
                " apply_gradients() of an optimizer of tf.train or tf.keras.optimizers, or train"
                " with one device and one process: assignments of other kinds can't be shared by"
                " devices, processes and accumulated batches."
            )
        if self._calls and len(self._calls[0][0]) != len(updates):
            raise MoxValueError(
                f"model_fn made {len(self._calls[0][0])} updates for device 0 and {len(updates)}"
                f" for device {len(self._calls)}. It is called once per device and has to build"
                " the same model each time."
            )
        self._calls.append((updates, train_op))
        return len(updates)

    def optimizer_fn(self) -> tf.train.Optimizer:
        """Returns the optimizer for the next loss."""
        index = self._made
        self._made += 1
        of_each = [updates[index] for updates, _ in self._calls]
        last = self._made == len(self._calls[0][0])
        return _Given(of_each, [train_op for _, train_op in self._calls] if last else [])


def _without_gradients() -> Update:
    """The update of a train_op that is made of other operations alone."""
    return Update(None, lambda pairs: tf.no_op(), (), tf.no_op())


class _Given(tf.train.Optimizer):
    """Gives the engine the gradients of one update, and builds the update with their mean.

    Args:
        updates: the same update as each device's call made it.
        train_ops: the train_op of each device, which runs after the update; empty unless this is
            the last update.
    """

    def __init__(self, updates: Sequence[Update], train_ops: Sequence[Any]) -> None:
        super().__init__(use_locking=False, name=type(updates[0].optimizer).__name__)
        # The engine asks for no gradients then.
        self.has_no_gradients = updates[0].optimizer is None
        self._updates, self._train_ops = updates, train_ops
        self._asked = 0
        self._rate: tf.Tensor | None = None

    def compute_gradients(self, loss: Any, var_list: Any = None, **others: Any) -> list[Any]:
        """Returns the gradients of the next device for its variables."""
        del loss, others
        update = self._updates[self._asked]
        self._asked += 1
        known = {variable.name: gradient for gradient, variable in update.pairs}
        variables = list(var_list or ())
        lost = known.keys() - {v.name for v in variables} - {v.name for v in _trainable()}
        if lost:
            raise MoxNotSupportedError(
                f"model_fn moves the variable {sorted(lost)[0].split(':')[0]}, which is not"
                " trainable. Make it with trainable=True."
            )
        return [(known.get(variable.name), variable) for variable in variables]

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        """Builds the real update, followed by the operations that depended on the captured one."""
        del name
        first = self._updates[0]
        self._rate = learning_rate.rate_of(first.optimizer)
        # Read the rate before the update, which may advance its schedule.
        with tf.control_dependencies([] if self._rate is None else [self._rate]):
            update = first.apply(list(grads_and_vars))
        for each in self._updates:
            each.done._add_control_input(update)
        # If the devices share their variables, the operations of one device are enough.
        copies = len({pair[1].name for one in self._updates for pair in one.pairs}) > len(
            {pair[1].name for pair in first.pairs}
        )
        rest = self._train_ops if copies else self._train_ops[:1]
        step = tf.group(update, *rest)
        if global_step is None or _counts(step, global_step):
            return step
        with tf.control_dependencies([step]):
            return global_step.assign_add(1, read_value=False)

    def shown_rate(self) -> tf.Tensor | None:
        """Returns the learning rate of the update; None if the optimizer keeps it elsewhere."""
        return self._rate


def _trainable() -> Sequence[Any]:
    return tf.trainable_variables()


def _counts(operation: tf.Operation, global_step: Any) -> bool:
    """Whether the operation increments the global step itself, as a Keras optimizer may."""
    handle = global_step.handle.op.name
    return any(
        op.type.startswith("Assign") and op.inputs and op.inputs[0].op.name == handle
        for op in ancestry.behind([operation])
    )


OptimizerFn = Callable[[], tf.train.Optimizer]
