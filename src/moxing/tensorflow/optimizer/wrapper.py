"""The base class of optimizers that change gradients and pass them to another optimizer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError
from moxing.tensorflow.optimizer.gradients import GradVar


class OptimizerWrapper(tf.train.Optimizer):
    """A `tf.train.Optimizer` that wraps another one.

    A subclass overrides `apply_gradients`. The innermost optimizer computes gradients, and the
    outermost one gives access to the slots and variables of all layers.

    Attributes:
      optimizer: the wrapped optimizer.
    """

    def __init__(self, opt: tf.train.Optimizer, name: str) -> None:
        check_optimizer(opt, name)
        super().__init__(use_locking=False, name=name)
        self.optimizer = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[GradVar]:
        """Calls `compute_gradients` of the wrapped optimizer."""
        return self.optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[GradVar], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        """Calls `apply_gradients` of the wrapped optimizer; subclasses override this method."""
        return self.optimizer.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, var: Any, name: str) -> Any:
        """Returns the variable of a slot of this or a wrapped optimizer; None if there is none."""
        own = super().get_slot(var, name)
        return self.optimizer.get_slot(var, name) if own is None else own

    def get_slot_names(self) -> list[str]:
        """Returns the sorted slot names of this and the wrapped optimizers."""
        return sorted({*super().get_slot_names(), *self.optimizer.get_slot_names()})

    def variables(self) -> list[Any]:
        """Returns the variables of this and the wrapped optimizers in the current graph."""
        return [*self.optimizer.variables(), *super().variables()]


def check_optimizer(opt: Any, where: str) -> None:
    """Raises a MoxTypeError unless `opt` is a `tf.train.Optimizer`."""
    if isinstance(opt, tf.train.Optimizer):
        return
    hint = ""
    if callable(opt):
        hint = " It looks like an optimizer_fn: call it first, get_optimizer_fn(...)()."
    raise MoxTypeError(
        f"{where}: the optimizer to wrap is {opt!r} ({type(opt).__name__}); "
        f"it must be a tf.train.Optimizer.{hint}"
    )
