"""The collectives of optimizers that exchange tensors with the other processes themselves.

Most optimizers get the mean gradient of all processes. An optimizer that says `meets_others = True`
gets the mean gradient of its own process instead, and exchanges the tensors that it chooses at the
steps that it chooses. All processes have to exchange the same tensors in the same steps.

State that such an optimizer keeps between two exchanges differs from process to process, while
checkpoints hold the chief's variables. So a save waits for a step after which no optimizer keeps
such state, and before all processes stop, they settle on one state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import run_context
from moxing.engine.parallel.reduce import AllReduce


@dataclass(frozen=True)
class Exchange:
    """The other processes, as an optimizer sees them.

    Attributes:
        between: the collectives by which tensors are exchanged.
    """

    between: AllReduce

    @property
    def size(self) -> int:
        """The number of processes, this process included."""
        return self.between.size

    def means(self, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the mean of each tensor over all processes; small tensors share a message."""
        sums = self.between.sums(tensors)
        return [total / tf.cast(self.size, total.dtype) for total in sums]

    def gathered(self, tensor: tf.Tensor, case: tf.Tensor, cases: int) -> tf.Tensor:
        """The tensors of all processes.

        Args:
            tensor: its shape is the same in all processes.
            case: int32 scalar, the same in all processes. Each case may have another shape.
            cases: the number of cases.

        Returns:
            A tensor with a new first dimension: the number of the process.
        """
        return self.between.gather_in_case(tf.expand_dims(tensor, 0), case, cases)


def offer(between: AllReduce) -> None:
    """Lets optimizers of the current graph exchange tensors with other processes."""
    run_context.current().exchange = Exchange(between)


def current() -> Exchange | None:
    """The collectives of the current graph; None if optimizers get the mean of all processes."""
    found = run_context.current().exchange
    return found if isinstance(found, Exchange) else None


def is_wanted(optimizer: Any) -> bool:
    """Whether an optimizer exchanges tensors with other processes itself."""
    return bool(getattr(optimizer, "meets_others", False))


def save_points(position: tf.Variable, steps: int) -> None:
    """Says after which steps an optimizer of the graph has no state that differs by process.

    Args:
        position: integer scalar that grows by 1 at each step, or goes back to 0 after `steps`.
        steps: after a step without such state, the position is a multiple of this number.
    """
    run_context.current().save_points.append((position, steps))


def settles(operation: tf.Operation) -> None:
    """Records the operation that gives all processes one state of an optimizer."""
    run_context.current().settling.append(operation)


def settle(session: tf.Session) -> None:
    """Gives all processes one state of their optimizers; called after the same step in each."""
    operations = run_context.of_graph(session.graph).settling
    if operations:
        session.run(operations)


class SavePoints:
    """Tells after which steps of a run optimizers have no state that a checkpoint would lose.

    Attributes:
        settles: whether processes settle on one state before the last save.
    """

    def __init__(self, session: tf.Session) -> None:
        context = run_context.of_graph(session.graph)
        self.settles = bool(context.settling)
        found = context.save_points
        begun = session.run([position for position, _ in found])
        self._cycles = [(int(at), steps) for at, (_, steps) in zip(begun, found, strict=True)]

    def after(self, step: int) -> bool:
        """Whether a checkpoint may be written after `step` steps of the run."""
        return all((begun + step) % steps == 0 for begun, steps in self._cycles)
