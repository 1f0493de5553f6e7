"""Elastic averaging SGD: each worker's weights are elastically tied to a shared center."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.parallel import self_exchange
from moxing.engine.parallel.self_exchange import Exchange
from moxing.errors import MoxValueError
from moxing.tensorflow.optimizer.gradients import GradVar, by_original, with_gradient
from moxing.tensorflow.optimizer.wrapper import OptimizerWrapper


class EasgdOptimizer(OptimizerWrapper):
    """Elastic averaging around any optimizer; with a momentum optimizer, this is EAMSGD.

    At every `communication_period`-th step, starting with the first, and before the update, the
    weights w of this worker and the center c, which all p workers share, move toward each other:

        w' = w - alpha (w - c)        c' = c + p alpha (mean of the workers' w - c)

    The update then uses the gradient at w, not at w'. The initial center is the weights at the
    first step. With one worker, the center is a slow average of the weights. The slot 'center' of
    each variable (`get_slot(var, 'center')`) holds the center and is part of the checkpoint.

    The workers of a cluster exchange only the center: each worker trains on the gradients of its
    own devices. Checkpoints hold the center and the weights of worker 0, with which all workers of
    a resumed run continue.

    Args:
      opt: the wrapped optimizer.
      communication_period: the number of steps between exchanges (tau), at least 1.
      moving_rate: alpha, in (0, 1]. None: 0.9 / p as in the paper, but at most 0.5, at which
        weights and center meet halfway; a higher rate would make them overshoot at every exchange.
      num_workers: p, at least 1, if workers do not exchange by themselves.
      worker_mean: a function that returns the mean over all workers of a tensor of this worker;
        needed if num_workers > 1.
      name: the name scope of the operations, and the end of the slots' names.

    Raises:
      MoxValueError: a number is outside its range, or `worker_mean` is missing.

    Reference: Zhang, Choromanska, LeCun, Deep Learning with Elastic Averaging SGD (2015),
    arXiv:1412.6651, section 3 (the synchronous rule, with beta = p alpha) and algorithm 1
    (the period).
    """

    meets_others = True

    def __init__(
        self,
        opt: tf.train.Optimizer,
        communication_period: int = 10,
        moving_rate: float | None = None,
        num_workers: int = 1,
        worker_mean: Callable[[tf.Tensor], tf.Tensor] | None = None,
        name: str = "easgd",
    ) -> None:
        super().__init__(opt, name)
        for label, value in (
            ("communication_period", communication_period),
            ("num_workers", num_workers),
        ):
            if not (isinstance(value, int) and value >= 1):
                raise MoxValueError(f"easgd: {label} is {value!r}; it must be at least 1.")
        if moving_rate is not None and not 0 < moving_rate <= 1:
            raise MoxValueError(f"easgd: moving_rate is {moving_rate}; it must be in (0, 1].")
        if num_workers > 1 and worker_mean is None:
            raise MoxValueError(
                f"easgd: {num_workers} workers share a center, so worker_mean, the mean of a "
                f"tensor over all workers, must be given."
            )
        self._period = communication_period
        self._moving_rate = moving_rate
        self._num_workers = num_workers
        self._worker_mean = worker_mean or (lambda tensor: tensor)
        self._steps_name = f"{name}/steps"

    def apply_gradients(
        self, grads_and_vars: Iterable[GradVar], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        """Exchanges with the center if it is due, then applies with the wrapped optimizer."""
        pairs = with_gradient(grads_and_vars, self._name)
        groups = [variables for _, variables in by_original(pairs)]
        others = self_exchange.current()
        with tf.init_scope():
            self._create_slots([variables[0] for variables in groups])
            steps: Any = self._get_non_slot_variable(self._steps_name, tf.get_default_graph())
        # The gradients must be computed from the weights before the exchange.
        with tf.name_scope(self._name), tf.control_dependencies([grad for grad, _ in pairs]):
            now = steps.read_value()
            exchanged = tf.cond(
                tf.equal(tf.mod(now, self._period), 0),
                lambda: self._exchange(groups, tf.equal(now, 0), others),
                lambda: tf.constant(True),
            )
        with tf.control_dependencies([exchanged]):
            update = self.optimizer.apply_gradients(pairs, global_step, name)
            return tf.group(update, steps.assign(now + 1))

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "center", self._name)
        first = min(var_list, key=lambda var: var.name)
        self._create_non_slot_variable(np.int64(0), self._steps_name, first)

    def _exchange(
        self, groups: Sequence[list[Any]], is_first: tf.Tensor, others: Exchange | None
    ) -> tf.Tensor:
        """Moves each variable (the first of its copies on several devices) and its center."""
        workers = others.size if others is not None else self._num_workers
        rate = min(0.9 / workers, 0.5) if self._moving_rate is None else self._moving_rate
        weights = [variables[0].read_value() for variables in groups]
        if others is not None:
            means = others.means(weights)
        else:
            means = [self._worker_mean(one) for one in weights]
        moves = []
        for variables, own, mean in zip(groups, weights, means, strict=True):
            slot = self.get_slot(variables[0], "center")
            center = tf.where(is_first, own, slot.read_value())
            pull = rate * (own - center)
            center += workers * rate * (mean - center)
            with tf.control_dependencies([pull, center]):
                moves += [*(var.assign_sub(pull) for var in variables), slot.assign(center)]
        with tf.control_dependencies(moves):
            return tf.constant(True)
