"""Deep gradient compression: exchanges only the largest gradients, and accumulates the rest."""

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
    """Sparsifies gradients with momentum correction; the wrapped optimizer should be plain SGD.

    For each variable with gradient g, momentum u and residual v:

        u = momentum u + g,  v = v + u                 (vanilla)
        u = momentum (u + g),  v = v + u + g           (nesterov)

    The elements of v with the largest absolute values are passed to the wrapped optimizer and set
    to 0 in v and, with momentum factor masking, in u. All other elements stay in v. Sparsity 0.999
    passes on one element in 1000. Because momentum is applied here, the wrapped optimizer must not
    have its own.

    Workers with their own variables exchange the positions and values of the elements that each of
    them passes on, and apply the mean; each worker keeps its own residual. All workers of a resumed
    run continue with the mean of the residuals at the end of the earlier run or, after a crash,
    with the residual of worker 0 at the last save.

    Args:
      opt: the wrapped optimizer.
      steps_per_epoch: the number of global steps in an epoch, at least 1; the unit of `sparsity`.
      sparsity: the share of elements held back in each epoch, each in [0, 1); the last value
        applies to all later epochs.
      momentum: the momentum, in [0, 1).
      momentum_type: 'vanilla' or 'nesterov'.
      momentum_factor_masking: whether u is cleared together with v, against stale momentum.
      skip_vectors: whether variables of rank 0 and 1 (biases, batch norm) are passed on whole,
        with momentum.
      reduce: a function applied to each tensor before the wrapped optimizer gets it, if workers do
        not exchange gradients here; None: no function.
      name: the name scope of the operations, and the end of the slots' names.

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
        """Applies the largest gradients with the wrapped optimizer, and keeps the rest."""
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
        """Returns the tensors to pass on and the slot updates, without other processes."""
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
        """Returns the means over processes of the tensors to pass on, and the slot updates."""
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
        """Sets the momentum and residual of all workers to their means."""
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
        """Returns the index into `sparsity`, an int32 scalar."""
        epoch = tf.minimum(step // self._steps_per_epoch, len(self._sparsity) - 1)
        return tf.cast(epoch, tf.int32)

    def _move(self, grad: tf.Tensor, var: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the new momentum, and the tensor to add to the residual."""
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
