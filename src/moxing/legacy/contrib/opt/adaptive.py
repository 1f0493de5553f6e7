"""Optimizers with their own update rules, for reference and resource variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf


def _assigned(variable: Any, value: Any, locking: bool = False) -> Any:
    return tf.assign(variable, value, use_locking=locking)


class LazyAdamOptimizer(tf.train.AdamOptimizer):
    """Adam that leaves the moments of rows without a gradient unchanged."""

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._rows(grad, var, indices)

    def _rows(self, grad: Any, var: Any, indices: Any) -> Any:
        power1, power2 = (tf.cast(p, grad.dtype) for p in self._get_beta_accumulators())
        rate, beta1, beta2, epsilon = (
            tf.cast(value, grad.dtype)
            for value in (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        )
        rate = rate * tf.sqrt(1 - power2) / (1 - power1)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = beta1 * tf.gather(m, indices) + (1 - beta1) * grad
        new_v = beta2 * tf.gather(v, indices) + (1 - beta2) * tf.square(grad)
        locking = self._use_locking
        step = rate * new_m / (tf.sqrt(new_v) + epsilon)
        return tf.group(
            tf.scatter_update(m, indices, new_m, use_locking=locking),
            tf.scatter_update(v, indices, new_v, use_locking=locking),
            tf.scatter_sub(var, indices, step, use_locking=locking),
        )


class _Dense(tf.train.Optimizer):
    """Base class of optimizers that compute a variable's step from a dense gradient in `_step`."""

    _slot_list: Sequence[str] = ()

    def __init__(self, learning_rate: Any, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            for slot in self._slot_list:
                self._zeros_slot(variable, slot, self._name)

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._rate = tf.convert_to_tensor(rate, name="learning_rate")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply_all(grad, var)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply_all(grad, var)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_all(tf.convert_to_tensor(grad), var)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        shape = tf.shape(var)
        return self._apply_all(tf.convert_to_tensor(tf.IndexedSlices(grad, indices, shape)), var)

    def _apply_all(self, grad: Any, var: Any) -> Any:
        step, *updates = self._step(grad, var)
        return tf.group(tf.assign_sub(var, step, use_locking=self._use_locking), *updates)

    def _step(self, grad: Any, var: Any) -> list[Any]:
        """Returns the value to subtract from the variable, then the updates of its slots."""
        raise NotImplementedError


class NadamOptimizer(tf.train.AdamOptimizer):
    """Adam with Nesterov momentum (Dozat 2016), as TensorFlow's kernel computes it."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._nesterov(tf.raw_ops.ApplyAdam, grad, var, lambda variable: variable._ref())

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        kernel = tf.raw_ops.ResourceApplyAdam
        return self._nesterov(kernel, grad, var, lambda variable: variable.handle)

    def _nesterov(
        self, kernel: Callable[..., Any], grad: Any, var: Any, held: Callable[[Any], Any]
    ) -> Any:
        power1, power2 = self._get_beta_accumulators()
        of_type = grad.dtype.base_dtype
        return kernel(
            var=held(var),
            m=held(self.get_slot(var, "m")),
            v=held(self.get_slot(var, "v")),
            beta1_power=tf.cast(power1, of_type),
            beta2_power=tf.cast(power2, of_type),
            lr=tf.cast(self._lr_t, of_type),
            beta1=tf.cast(self._beta1_t, of_type),
            beta2=tf.cast(self._beta2_t, of_type),
            epsilon=tf.cast(self._epsilon_t, of_type),
            grad=grad,
            use_locking=self._use_locking,
            use_nesterov=True,
        )

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_dense(tf.convert_to_tensor(grad), var)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        slices = tf.IndexedSlices(grad, indices, tf.shape(var))
        return self._resource_apply_dense(tf.convert_to_tensor(slices), var)


class AdaMaxOptimizer(_Dense):
    """Adam with the largest gradient in place of the mean square (Kingma and Ba 2014, 7.1)."""

    _slot_list = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, use_locking, name)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        super()._create_slots(var_list)
        first = min(var_list, key=lambda variable: variable.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", colocate_with=first)

    def _power(self) -> Any:
        return self._get_non_slot_variable("beta1_power", graph=tf.get_default_graph())

    def _step(self, grad: Any, var: Any) -> list[Any]:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = self._beta1 * m + (1 - self._beta1) * grad
        new_v = tf.maximum(self._beta2 * v, tf.abs(grad))
        rate = tf.cast(self._rate, grad.dtype) / (1 - tf.cast(self._power(), grad.dtype))
        step = rate * new_m / (new_v + self._epsilon)
        return [step, _assigned(m, new_m), _assigned(v, new_v)]

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        with tf.control_dependencies(list(update_ops)):
            power = self._power()
            after = tf.assign(power, power * self._beta1, use_locking=self._use_locking)
        return tf.group(*update_ops, after, name=name_scope)


class _Sign(_Dense):
    """Base class of the optimizers of Bello et al. (2017): signs of gradient and momentum."""

    _slot_list = ("m",)

    def __init__(
        self,
        learning_rate: Any,
        beta: float,
        sign_decay_fn: Callable[[Any], Any] | None,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(learning_rate, use_locking, name)
        self._beta, self._sign_decay_fn, self._decay = beta, sign_decay_fn, None

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Builds the update; `sign_decay_fn` gets the global step."""
        if self._sign_decay_fn is not None:
            self._decay = self._sign_decay_fn(global_step)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _step(self, grad: Any, var: Any) -> list[Any]:
        m = self.get_slot(var, "m")
        new_m = self._beta * m + (1 - self._beta) * grad
        agree = tf.sign(grad) * tf.sign(new_m)
        if self._decay is not None:
            agree *= tf.cast(self._decay, grad.dtype)
        return [tf.cast(self._rate, grad.dtype) * self._scale(agree) * grad, _assigned(m, new_m)]

    def _scale(self, agree: Any) -> Any:
        raise NotImplementedError


class AddSignOptimizer(_Sign):
    """Gradients times alpha + sign(gradient) sign(momentum) (Bello et al. 2017)."""

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: float = 1.0,
        beta: float = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _scale(self, agree: Any) -> Any:
        return self._alpha + agree


class PowerSignOptimizer(_Sign):
    """Gradients times base ** (sign(gradient) sign(momentum)) (Bello et al. 2017)."""

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: float = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._base = base

    def _scale(self, agree: Any) -> Any:
        return tf.exp(math.log(self._base) * agree)


class LARSOptimizer(_Dense):
    """Momentum with a learning rate for each layer (You et al. 2017, algorithm 1).

    The momentum sums gradients that are multiplied by the rate of their layer. Rows of variables
    get plain momentum, whose slots sum the gradients alone.
    """

    _slot_list = ("momentum",)

    def __init__(
        self,
        learning_rate: Any,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, False, name)
        self._momentum, self._weight_decay, self._eeta = momentum, weight_decay, eeta
        self._epsilon, self._skip_list, self._nesterov = epsilon, skip_list or (), use_nesterov

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """Returns the learning rate of a layer, and its gradient with the decay of its weights."""
        rate = tf.cast(self._rate, grad.dtype)
        if any(part in var.name for part in self._skip_list):
            return rate, grad
        weights, slope = tf.norm(var), tf.norm(grad)
        by = slope + self._weight_decay * weights + self._epsilon
        trust = tf.where((weights > 0) & (slope > 0), self._eeta * weights / by, 1.0)
        return rate * trust, grad + self._weight_decay * var

    def _step(self, grad: Any, var: Any) -> list[Any]:
        rate, grad = self.compute_lr(grad, var)
        slot, scaled = self.get_slot(var, "momentum"), grad * rate
        new = self._momentum * slot + scaled
        step = scaled + self._momentum * new if self._nesterov else new
        return [step, _assigned(slot, new)]

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._rows(grad, var, indices)

    def _rows(self, grad: Any, var: Any, indices: Any) -> Any:
        rate = tf.cast(self._rate, grad.dtype)
        slot = self.get_slot(var, "momentum")
        new = self._momentum * tf.gather(slot, indices) + grad
        step = rate * (grad + self._momentum * new if self._nesterov else new)
        return tf.group(tf.scatter_update(slot, indices, new), tf.scatter_sub(var, indices, step))
