"""The collectives of optimizers that exchange tensors with the other processes themselves.

Most optimizers get the mean gradient of all processes. An optimizer that says `meets_others = True`
gets the mean gradient of its own process instead, and exchanges tensors of its choice at steps of
its choice. All processes have to exchange the same tensors in the same steps.

State that such an optimizer keeps between two exchanges differs from process to process, while
checkpoints hold the chief's variables. So saves wait for a step behind which an optimizer keeps no
such state, and where all processes stop, they settle on one.
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
        between: the collectives that an exchange is made of.
    """

    between: AllReduce

    @property
    def size(self) -> int:
        """How many processes there are, this one included."""
        return self.between.size

    def means(self, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """The mean of each tensor over all processes; small ones share a message."""
        sums = self.between.sums(tensors)
        return [total / tf.cast(self.size, total.dtype) for total in sums]

    def gathered(self, tensor: tf.Tensor, case: tf.Tensor, cases: int) -> tf.Tensor:
        """The tensors of all processes.

        Args:
            tensor: of the same shape in all processes.
            case: int32 scalar, the same in all processes. In each case the shape may be another.
            cases: how many there are.

        Returns:
            A tensor with one dimension more, in front: the number of the process.
        """
        return self.between.gather_in_case(tf.expand_dims(tensor, 0), case, cases)


def offer(between: AllReduce) -> None:
    """Lets optimizers of the current graph exchange by themselves."""
    run_context.current().exchange = Exchange(between)


def current() -> Exchange | None:
    """The collectives of the current graph; None: optimizers get the mean over all processes."""
    found = run_context.current().exchange
    return found if isinstance(found, Exchange) else None


def is_wanted(optimizer: Any) -> bool:
    """Whether an optimizer meets other processes by itself."""
    return bool(getattr(optimizer, "meets_others", False))


def save_points(position: tf.Variable, steps: int) -> None:
    """Says behind which steps an optimizer of the current graph has no state of each process.

    Args:
        position: integer scalar that grows by 1 at each step, or goes back to 0 after `steps`.
        steps: the position of such a step is a multiple of this number.
    """
    run_context.current().save_points.append((position, steps))


def settles(operation: tf.Operation) -> None:
    """Notes the operation by which all processes settle on one state of an optimizer."""
    run_context.current().settling.append(operation)


def settle(session: tf.Session) -> None:
    """Lets all processes settle on one state of their optimizers, after the same step."""
    operations = run_context.of_graph(session.graph).settling
    if operations:
        session.run(operations)


class SavePoints:
    """Knows behind which steps of a run optimizers keep no state that a checkpoint would lose.

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
