"""Builds, from the losses of a model, one operation that makes one training step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites import precision
from moxing.engine.graph.rewrites.precision import LossScale
from moxing.engine.job.updating import Updating
from moxing.engine.model import also, averages, clipping, gradients, learning_rate
from moxing.engine.model.accumulation import Accumulation
from moxing.engine.model.gradients import GradsAndVars
from moxing.engine.parallel import self_exchange, variable_reads
from moxing.engine.parallel.reduce import Spread
from moxing.engine.wording import user_calls
from moxing.errors import MoxTypeError

# The gradients of every loss, from every device that computes them.
_OfLosses = list[list[GradsAndVars]]


@dataclass(frozen=True)
class Rules:
    """How gradients become an update.

    Attributes:
        scale: the factor by which each loss is multiplied while its gradients are computed.
        updating: how mean gradients are changed before an optimizer gets them.
        accumulation: the number of batches in a step, and the operations of its earlier batches.
    """

    scale: LossScale = field(default_factory=LossScale)
    updating: Updating = field(default_factory=Updating)
    accumulation: Accumulation = field(default_factory=Accumulation)


_AS_THEY_ARE = Rules()


def train_op(
    spread: Spread,
    optimizer_fns: Sequence[Callable[[], tf.train.Optimizer]],
    variables: Sequence[tf.Variable],
    global_step: tf.Variable,
    rules: Rules = _AS_THEY_ARE,
) -> tf.Operation:
    """Builds a step: the updates of batch-norm statistics, all gradients, then all optimizers.

    All gradients are of the same forward pass: no optimizer moves a variable before the last
    gradient is computed. The global step counts one, however many losses there are.

    Args:
        spread: the models of all devices, and how their gradients meet.
        optimizer_fns: one function for each loss; each is called once.
        variables: the first model's variables that may be trained.
        global_step: incremented by one in every step, also where a dynamic loss scale skips the
            update.
        rules: how gradients become an update.
    """
    updating = rules.updating
    clipping.offer(updating)
    optimizers = [_make_optimizer(function) for function in optimizer_fns]
    with learning_rate.scalable(optimizers):
        step = _Step(spread, optimizers, variables, global_step, rules).build()
    if updating.average_decay is None or not spread.applies:
        return step
    return averages.keep(step, variables, updating.average_decay, global_step)


class _Step:
    """One step under construction; its parts are built in the order in which they run.

    The order is the same in every process: collectives are matched by this order.
    """

    def __init__(
        self,
        spread: Spread,
        optimizers: Sequence[tf.train.Optimizer],
        variables: Sequence[tf.Variable],
        global_step: tf.Variable,
        rules: Rules,
    ) -> None:
        self._spread = spread
        self._optimizers = optimizers
        self._variables = variables
        self._global_step = global_step
        self._rules = rules
        self._scale = rules.scale
        self._accumulates = rules.accumulation.batches > 1

    def build(self) -> tf.Operation:
        """The operation that makes the step."""
        of_batch = self._gradients()
        updates = [op for replica in self._spread.replicas for op in replica.updates]
        if self._accumulates:
            updates = self._with_earlier_batches(of_batch, updates)
            of_batch = self._over_batches(of_batch)
        means = [
            gradients.means(self._spread, optimizer, of_each)
            for optimizer, of_each in zip(self._optimizers, of_batch, strict=True)
        ]
        also.keep_gradients([[gradient for gradient, _ in of_each[0]] for of_each in means])
        reads = variable_reads.of(self._spread.replicas)
        if not self._spread.applies:
            return tf.group(*(gradient.op for gradient in _flat(means)))
        moves = self._limited(means)
        if len(moves) == 1 and not self._scale.dynamic:
            return self._apply_one(moves[0], updates, reads)
        return self._apply_all(moves, _flat(means), updates, reads)

    def _gradients(self) -> _OfLosses:
        """The gradients of this batch, of every loss on every device."""
        spread = self._spread
        # With a dynamic loss scale all processes must skip the same steps. An optimizer that
        # reaches other processes itself sees only its own gradients, so it gets no exchange then.
        if spread.between is not None and spread.apart and not self._scale.dynamic:
            self_exchange.offer(spread.between)
        return [
            [
                gradients.of_device(replica, optimizer, index, self._variables, self._scale)
                for replica in spread.replicas
            ]
            for index, optimizer in enumerate(self._optimizers)
        ]

    def _with_earlier_batches(
        self, of_batch: _OfLosses, updates: list[tf.Operation]
    ) -> list[tf.Operation]:
        """Has the earlier batches of the step run the updates of batch-norm statistics too.

        Returns:
            The updates; with a dynamic loss scale, gradients that are not finite undo them.
        """
        if self._scale.dynamic:
            finite = precision.all_finite(_flat(of_batch))
            updates = precision.undo_unless(finite, updates)
        self._rules.accumulation.also(updates)
        return updates

    def _over_batches(self, of_batch: _OfLosses) -> _OfLosses:
        """The mean gradients over the batches of the step."""
        means = self._rules.accumulation.means
        return [
            [
                means(replica, str(index), pairs)
                for replica, pairs in zip(self._spread.replicas, of_each, strict=True)
            ]
            for index, of_each in enumerate(of_batch)
        ]

    def _limited(self, means: _OfLosses) -> list[GradsAndVars]:
        """For each loss the gradients that its optimizer gets."""
        updating = self._rules.updating
        return [
            gradients.limited(
                self._spread, of_each, None if clipping.clips_itself(optimizer) else updating
            )
            for optimizer, of_each in zip(self._optimizers, means, strict=True)
        ]

    def _apply_one(
        self, moves: GradsAndVars, updates: list[tf.Operation], reads: list[tf.Operation]
    ) -> tf.Operation:
        """The update by the only optimizer, which counts the step as well."""
        optimizer = self._optimizers[0]
        late = variable_reads.unordered(reads, optimizer, moves)
        with tf.control_dependencies([*updates, *late]):
            return _apply(optimizer, moves, self._global_step)

    def _apply_all(
        self,
        moves: list[GradsAndVars],
        means: list[tf.Tensor],
        updates: list[tf.Operation],
        reads: list[tf.Operation],
    ) -> tf.Operation:
        """The update by every optimizer, after the last gradient; then the count of the step."""
        first = [*updates, tf.group(*reads)] if reads else updates
        finite = precision.all_finite(means) if self._scale.dynamic else tf.constant(True)
        if self._scale.dynamic and not self._accumulates:
            first = precision.undo_unless(finite, first)

        def update() -> tf.Operation:
            pairs = zip(self._optimizers, moves, strict=True)
            return tf.group(*(_apply(optimizer, moved) for optimizer, moved in pairs))

        with tf.control_dependencies([*first, *(gradient.op for gradient in means)]):
            applied = self._scale.apply(finite, update)
        with tf.control_dependencies([applied]):
            return self._global_step.assign_add(1, name="train_step", read_value=False)


def _flat(of_losses: _OfLosses) -> list[tf.Tensor]:
    return [gradient for one in of_losses for pairs in one for gradient, _ in pairs]


def _make_optimizer(optimizer_fn: Callable[[], tf.train.Optimizer]) -> tf.train.Optimizer:
    optimizer = user_calls.call("optimizer_fn", optimizer_fn)
    if not isinstance(optimizer, tf.train.Optimizer):
        raise MoxTypeError(
            f"optimizer_fn returned a {type(optimizer).__module__}."
            f"{type(optimizer).__qualname__}, not a tf.train.Optimizer. Return one of tf.train,"
            " such as tf.train.AdamOptimizer(0.001), or mox.get_optimizer_fn('adam', 0.001)()."
        )
    return optimizer


def _apply(
    optimizer: tf.train.Optimizer, pairs: GradsAndVars, global_step: tf.Variable | None = None
) -> tf.Operation:
    role = f"{type(optimizer).__name__}'s"
    return user_calls.call(role, optimizer.apply_gradients, pairs, global_step)
