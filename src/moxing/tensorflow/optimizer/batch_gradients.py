"""Gradient accumulation: applies the average gradient of several steps in one update."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.model import clipping
from moxing.engine.parallel import self_exchange
from moxing.engine.parallel.self_exchange import Exchange
from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.optimizer.gradients import GradVar, by_original, dense, with_gradient
from moxing.tensorflow.optimizer.wrapper import OptimizerWrapper

_Group = tuple[Any, list[Any]]


class BatchGradientsOptimizer(OptimizerWrapper):
    """Accumulates gradients over `num_batches` steps, and then applies their average once.

    With a loss that is a mean over the batch, this equals one step with a batch `num_batches` times
    as large. The global step grows by 1 at every step, including steps that only accumulate. The
    wrapped optimizer runs, and reads its learning rate, at every `num_batches`-th step. So a
    schedule made for the large batch needs `global_step // num_batches`, while `piecewise_lr`,
    which counts epochs, needs the small batch size.

    The sums and the position are variables of the graph and thus of its checkpoints, so a run
    resumed in the middle of an accumulation loses nothing. Several workers, whose sums differ, lose
    nothing, either: they save only when the sums are empty, and at the end of training they save
    the mean of their sums.

    Args:
      opt: the wrapped optimizer.
      num_batches: the number of steps per update, at least 1.
      sync_on_apply: whether workers with their own variables exchange gradients only when they
        apply them, which sends less data and gives the same result; else they exchange them at
        every step. Has no effect in one process or with parameter servers.
      name: the name scope of the operations, and the end of the slots' names.

    Attributes:
      num_batches, sync_on_apply: the arguments.
    """

    def __init__(
        self,
        opt: tf.train.Optimizer,
        num_batches: int,
        sync_on_apply: bool = True,
        name: str = "batch_gradients",
    ) -> None:
        super().__init__(opt, name)
        if isinstance(num_batches, bool) or not isinstance(num_batches, int):
            raise MoxTypeError(
                f"batch_gradients: num_batches is {num_batches!r} ({type(num_batches).__name__}); "
                f"it must be a whole number."
            )
        if num_batches < 1:
            raise MoxValueError(
                f"batch_gradients: num_batches is {num_batches}; it must be at least 1."
            )
        self.num_batches = num_batches
        self.sync_on_apply = sync_on_apply
        self._position_name = f"{name}/position"

    @property
    def meets_others(self) -> bool:
        """Whether this optimizer, instead of the engine, exchanges gradients."""
        return self.sync_on_apply and self.num_batches > 1

    @property
    def clips_itself(self) -> bool:
        """Whether this optimizer, instead of the engine, clips: it clips the averages."""
        return self.num_batches > 1

    def apply_gradients(
        self, grads_and_vars: Iterable[GradVar], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        """Accumulates or, at every `num_batches`-th step, applies; the global step grows by 1."""
        pairs = with_gradient(grads_and_vars, self._name)
        if self.num_batches == 1:
            return self.optimizer.apply_gradients(pairs, global_step, name)
        groups = by_original(pairs)
        others = self_exchange.current() if self.meets_others else None
        with tf.init_scope():
            self._create_slots([variables[0] for _, variables in groups])
            position: Any = self._get_non_slot_variable(self._position_name, tf.get_default_graph())
        if others is not None:
            self_exchange.save_points(position, self.num_batches)
            self_exchange.settles(self._agree(groups, others))
        with tf.name_scope(name or self._name):
            now = position.read_value()
            step = tf.cond(
                tf.equal(now, self.num_batches - 1),
                lambda: self._apply_average(groups, others),
                lambda: self._accumulate(groups),
            )
            with tf.control_dependencies([step]):
                moves = [position.assign(tf.mod(now + 1, self.num_batches))]
                if global_step is not None:
                    moves.append(tf.assign_add(global_step, 1))
                return tf.group(*moves)

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gradient_sum", self._name)
        first = min(var_list, key=lambda var: var.name)
        self._create_non_slot_variable(np.int64(0), self._position_name, first)

    def _accumulate(self, groups: Sequence[_Group]) -> tf.Tensor:
        return _done([self._add(grad, variables[0]) for grad, variables in groups])

    def _add(self, grad: Any, var: Any) -> Any:
        total = self.get_slot(var, "gradient_sum")
        if isinstance(grad, tf.IndexedSlices):
            return total.scatter_add(grad)
        return total.assign_add(grad)

    def _apply_average(self, groups: Sequence[_Group], others: Exchange | None) -> tf.Tensor:
        means = []
        for grad, (var, *_) in groups:
            total = self.get_slot(var, "gradient_sum").read_value() + dense(grad, var)
            means.append(total / self.num_batches)
        if others is not None:
            means = others.means(means)
        means = clipping.clipped_in_run(means)
        pairs = [(m, v) for m, (_, same) in zip(means, groups, strict=True) for v in same]
        # Clearing waits for the update, and so for every read of the sums.
        with tf.control_dependencies([self.optimizer.apply_gradients(pairs)]):
            return _done([self._clear(variables[0]) for _, variables in groups])

    def _agree(self, groups: Sequence[_Group], others: Exchange) -> tf.Operation:
        """Sets all workers' sums to their mean, which does not change the next average."""
        slots = [self.get_slot(variables[0], "gradient_sum") for _, variables in groups]
        means = others.means([slot.read_value() for slot in slots])
        return tf.group(*(slot.assign(mean) for slot, mean in zip(slots, means, strict=True)))

    def _clear(self, var: Any) -> Any:
        total = self.get_slot(var, "gradient_sum")
        return total.assign(tf.zeros_like(total))


def _done(operations: list[Any]) -> tf.Tensor:
    with tf.control_dependencies(operations):
        return tf.constant(True)
