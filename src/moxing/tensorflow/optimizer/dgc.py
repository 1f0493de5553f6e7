"""Deep gradient compression: only the largest gradients are exchanged, the rest waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.parallel import self_exchange
from moxing.engine.parallel.self_exchange import Exchange
from moxing.errors import MoxValueError, near_matches
from moxing.tensorflow.optimizer.gradients import (
    GradVar,
    by_original,
    dense,
    is_vector,
    with_gradient,
)
from moxing.tensorflow.optimizer.sparse_mean import Elements, choose, sparse_means, without
from moxing.tensorflow.optimizer.sparsity import largest_mask
from moxing.tensorflow.optimizer.sparsity import room as sparse_room
from moxing.tensorflow.optimizer.wrapper import OptimizerWrapper

SPARSITY = (0.75, 0.9375, 0.984375, 0.996, 0.999)
_MOMENTUM_TYPES = ("vanilla", "nesterov")


class DgcOptimizer(OptimizerWrapper):
    """Sparsifies gradients with momentum correction; the optimizer inside should be plain SGD.

    For each variable with gradient g, momentum u and residual v:

        u = momentum u + g,  v = v + u                 (vanilla)
        u = momentum (u + g),  v = v + u + g           (nesterov)

    The elements of v that are largest in absolute value are handed on and set to 0 in v; with
    momentum factor masking also in u. All others wait in v. Sparsity 0.999 hands on one element
    in 1000. Momentum lives here, so the optimizer inside must not have its own.

    Workers with variables of their own exchange what each of them hands on, places and values, and
    apply the mean; what waits is each worker's own. A run that is resumed goes on, in all workers,
    with the mean of what waited where it had ended; after a crash, with what waited in worker 0 at
    the last save.

    Args:
      opt: the optimizer inside.
      steps_per_epoch: global steps in one epoch, at least 1; the unit of `sparsity`.
      sparsity: the share held back in each epoch, each in [0, 1); the last one is kept.
      momentum: in [0, 1).
      momentum_type: 'vanilla' or 'nesterov'.
      momentum_factor_masking: whether u is cleared with v, against stale momentum.
      skip_vectors: variables of rank 0 and 1 (biases, batch norm) are handed on whole, with
        momentum.
      reduce: what to do with each tensor before the optimizer inside gets it, where workers do not
        meet here; None: nothing.
      name: name scope of the operations and end of the names of the slots.

    Raises:
      MoxValueError: values outside these ranges.

    Reference: Lin, Han, Mao, Wang, Dally, Deep Gradient Compression (2018), arXiv:1712.01887,
    sections 3.1 to 3.3 and, for both kinds of momentum, appendix B.
    """

    meets_others = True

    def __init__(
        self,
        opt: tf.train.Optimizer,
        steps_per_epoch: int,
        sparsity: Sequence[float] = SPARSITY,
        momentum: float = 0.9,
        momentum_type: str = "vanilla",
        momentum_factor_masking: bool = True,
        skip_vectors: bool = True,
        reduce: Callable[[tf.Tensor], tf.Tensor] | None = None,
        name: str = "dgc",
    ) -> None:
        super().__init__(opt, name)
        if not steps_per_epoch >= 1:
            raise MoxValueError(f"dgc: steps_per_epoch is {steps_per_epoch}; it must be >= 1.")
        if not sparsity or not all(0 <= share < 1 for share in sparsity):
            raise MoxValueError(
                f"dgc: sparsity is {sparsity!r}; it must be shares in [0, 1), one for each epoch."
            )
        if not 0 <= momentum < 1:
            raise MoxValueError(f"dgc: momentum is {momentum}; it must be in [0, 1).")
        if momentum_type not in _MOMENTUM_TYPES:
            raise MoxValueError(
                f"dgc: unknown momentum_type {momentum_type!r}."
                f"{near_matches(momentum_type, _MOMENTUM_TYPES)} "
                f"Known: {', '.join(_MOMENTUM_TYPES)}."
            )
        self._steps_per_epoch = int(steps_per_epoch)
        self._sparsity = tuple(sparsity)
        self._momentum = momentum
        self._nesterov = momentum_type == "nesterov"
        self._masking = momentum_factor_masking
        self._skip_vectors = skip_vectors
        self._reduce = reduce or (lambda tensor: tensor)

    def apply_gradients(
        self, grads_and_vars: Iterable[GradVar], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        """Applies the largest gradients with the optimizer inside and keeps the rest."""
        groups = by_original(with_gradient(grads_and_vars, self._name))
        with tf.init_scope():
            self._create_slots([variables[0] for _, variables in groups])
            counter = tf.train.get_or_create_global_step()
        with tf.name_scope(self._name):
            step = tf.cast(counter, tf.int64)
            given = [(dense(grad, variables[0]), variables[0]) for grad, variables in groups]
            others = self_exchange.current()
            if others is None:
                sent, kept = self._compress_all(given, step)
            else:
                sent, kept = self._exchange_all(given, step, others)
        pairs = [(t, v) for t, (_, same) in zip(sent, groups, strict=True) for v in same]
        with tf.control_dependencies(kept):
            return self.optimizer.apply_gradients(pairs, global_step, name)

    def _compress_all(
        self, given: Sequence[GradVar], step: tf.Tensor
    ) -> tuple[list[tf.Tensor], list[Any]]:
        """What is handed on, and the updates of what waits; without other processes."""
        sparsity = tf.gather(tf.constant(self._sparsity, tf.float32), self._epoch(step))
        sent, kept = [], []
        for grad, var in given:
            tensor, updates = self._compress(grad, var, sparsity, step)
            sent.append(self._reduce(tensor))
            kept += updates
        return sent, kept

    def _exchange_all(
        self, given: Sequence[GradVar], step: tf.Tensor, others: Exchange
    ) -> tuple[list[tf.Tensor], list[Any]]:
        """The means over all processes of what each hands on, and the updates of what waits."""
        epoch = self._epoch(step)
        sparsity = tf.gather(tf.constant(self._sparsity, tf.float32), epoch)
        whole: dict[int, tf.Tensor] = {}
        chosen: dict[int, Elements] = {}
        kept: list[Any] = []
        for index, (grad, var) in enumerate(given):
            velocity, move = self._move(grad, var)
            momentum = self.get_slot(var, "dgc_momentum")
            if self._is_skipped(var):
                whole[index] = move
                kept.append(momentum.assign(velocity))
                continue
            residual = self.get_slot(var, "dgc_residual")
            waiting = residual.read_value() + move
            mask = largest_mask(waiting, sparsity, step)
            room = [sparse_room(waiting.shape.num_elements(), share) for share in self._sparsity]
            elements = choose(waiting, mask, room, epoch)
            chosen[index] = elements
            if self._masking:
                velocity = without(velocity, elements)
            kept += [momentum.assign(velocity), residual.assign(without(waiting, elements))]
        self_exchange.settles(self._agree([var for _, var in given], others))
        means: dict[int, tf.Tensor] = {}
        if chosen:
            sparse = sparse_means(others, list(chosen.values()), epoch)
            means.update(zip(chosen, sparse, strict=True))
        means.update(zip(whole, others.means(list(whole.values())), strict=True))
        return [means[index] for index in range(len(given))], kept

    def _agree(self, variables: Sequence[Any], others: Exchange) -> tf.Operation:
        """Gives all workers the mean of what waits in each."""
        slots = [self.get_slot(v, n) for v in variables for n in ("dgc_momentum", "dgc_residual")]
        slots = [slot for slot in slots if slot is not None]
        means = others.means([slot.read_value() for slot in slots])
        return tf.group(*(slot.assign(mean) for slot, mean in zip(slots, means, strict=True)))

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "dgc_momentum", f"{self._name}_momentum")
            if not self._is_skipped(var):
                self._zeros_slot(var, "dgc_residual", f"{self._name}_residual")

    def _is_skipped(self, var: Any) -> bool:
        return self._skip_vectors and is_vector(var)

    def _epoch(self, step: tf.Tensor) -> tf.Tensor:
        """The index into `sparsity`, int32."""
        epoch = tf.minimum(step // self._steps_per_epoch, len(self._sparsity) - 1)
        return tf.cast(epoch, tf.int32)

    def _move(self, grad: tf.Tensor, var: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """The new momentum, and what it adds to what waits."""
        velocity = self.get_slot(var, "dgc_momentum").read_value()
        if self._nesterov:
            velocity = self._momentum * (velocity + grad)
            return velocity, velocity + grad
        velocity = self._momentum * velocity + grad
        return velocity, velocity

    def _compress(
        self, grad: tf.Tensor, var: Any, sparsity: tf.Tensor, step: tf.Tensor
    ) -> tuple[tf.Tensor, list[Any]]:
        momentum = self.get_slot(var, "dgc_momentum")
        velocity, move = self._move(grad, var)
        if self._is_skipped(var):
            return move, [momentum.assign(velocity)]
        residual = self.get_slot(var, "dgc_residual")
        waiting = residual.read_value() + move
        mask = largest_mask(waiting, sparsity, step)
        zeros = tf.zeros_like(waiting)
        if self._masking:
            velocity = tf.where(mask, zeros, velocity)
        updates = [momentum.assign(velocity), residual.assign(tf.where(mask, zeros, waiting))]
        return tf.where(mask, waiting, zeros), updates
