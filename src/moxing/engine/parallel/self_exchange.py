"""What an optimizer that meets the other processes by itself does it with.

Most optimizers get the mean gradient of all processes. One that says `meets_others = True` gets the
mean of its own process instead, and exchanges what it wants, when it wants. All processes have to
exchange the same in the same steps.

What such an optimizer keeps between two exchanges is each process's own, while checkpoints are made
of the variables of the chief. So saves wait for a step behind which nothing is kept, and where all
processes stop, they settle on what to keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.parallel.reduce import AllReduce

_EXCHANGE = "openmox/exchange"
_RESTS = "openmox/rests"
_SETTLING = "openmox/settling"


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
    tf.add_to_collection(_EXCHANGE, Exchange(between))


def current() -> Exchange | None:
    """What optimizers of the current graph exchange with; None: gradients have met already."""
    return next(iter(tf.get_collection(_EXCHANGE)), None)


def is_wanted(optimizer: Any) -> bool:
    """Whether an optimizer meets other processes by itself."""
    return bool(getattr(optimizer, "meets_others", False))


def rests(position: tf.Variable, steps: int) -> None:
    """Says behind which steps an optimizer of the current graph keeps nothing.

    Args:
        position: integer scalar that grows by 1 at each step, or goes back to 0 after `steps`.
        steps: where it is a multiple of this.
    """
    tf.add_to_collection(_RESTS, (position, steps))


def settles(operation: tf.Operation) -> None:
    """Says with what all processes agree on what an optimizer of the current graph keeps."""
    tf.add_to_collection(_SETTLING, operation)


def settle(session: tf.Session) -> None:
    """Lets all processes agree on what optimizers keep; all have to call it after the same step."""
    operations = session.graph.get_collection(_SETTLING)
    if operations:
        session.run(operations)


class SavePoints:
    """Knows behind which steps of a run nothing is kept that a checkpoint would lose.

    Attributes:
        settles: whether processes agree on what they keep before the last save.
    """

    def __init__(self, session: tf.Session) -> None:
        self.settles = bool(session.graph.get_collection(_SETTLING))
        found = session.graph.get_collection(_RESTS)
        begun = session.run([position for position, _ in found])
        self._cycles = [(int(at), steps) for at, (_, steps) in zip(begun, found, strict=True)]

    def after(self, step: int) -> bool:
        """Whether that is so after `step` steps of the run."""
        return all((begun + step) % steps == 0 for begun, steps in self._cycles)
