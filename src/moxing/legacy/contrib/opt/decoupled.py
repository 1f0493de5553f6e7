"""Weight decay decoupled from the gradient (Loshchilov and Hutter 2017)."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow.compat.v1 as tf


class DecoupledWeightDecayExtension:
    """A mixin for an optimizer class that decays each variable before the optimizer's step."""

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        """Args: weight_decay: the fraction subtracted per step: a number, tensor or function."""
        self._decay_only: set[str] | None = None
        self._weight_decay = weight_decay
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: Any = tf.train.Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Any = None,
    ) -> Any:
        """Calls `Optimizer.minimize`; if `decay_var_list` is given, only its variables decay."""
        self._decay_only = _names(decay_var_list)
        return super().minimize(  # type: ignore[misc]
            loss,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Any = None,
    ) -> Any:
        """Calls `Optimizer.apply_gradients`; see `minimize` for `decay_var_list`."""
        if decay_var_list is not None:
            self._decay_only = _names(decay_var_list)
        return super().apply_gradients(  # type: ignore[misc]
            grads_and_vars, global_step=global_step, name=name
        )

    def _prepare(self) -> None:
        decay = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        self._decay_tensor = tf.convert_to_tensor(decay, name="weight_decay")
        super()._prepare()  # type: ignore[misc]

    def _decayed(self, grad: Any, var: Any, indices: Any = None) -> Any:
        if self._decay_only is not None and var.name not in self._decay_only:
            return tf.no_op()
        share = tf.cast(self._decay_tensor, var.dtype.base_dtype)
        # The gradient must be computed before the variable decays.
        with tf.control_dependencies([grad]):
            if indices is None:
                return tf.assign_sub(var, share * var)
            return tf.scatter_sub(var, indices, share * tf.gather(var, indices))

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies([self._decayed(grad, var)]):
            return super()._apply_dense(grad, var)  # type: ignore[misc]

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies([self._decayed(grad, var)]):
            return super()._resource_apply_dense(grad, var)  # type: ignore[misc]

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies([self._decayed(grad.values, var, grad.indices)]):
            return super()._apply_sparse(grad, var)  # type: ignore[misc]

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        with tf.control_dependencies([self._decayed(grad, var, indices)]):
            return super()._resource_apply_sparse(grad, var, indices)  # type: ignore[misc]


def _names(variables: Any) -> set[str] | None:
    return None if variables is None else {variable.name for variable in variables}


@functools.cache
def extend_with_decoupled_weight_decay(base_optimizer: type) -> type:
    """Returns a subclass of `base_optimizer` whose first argument is `weight_decay`."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        """The optimizer with weight decay; its other arguments follow by position or by name."""

        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(weight_decay, **_by_name(base_optimizer, args, kwargs))

    return OptimizerWithDecoupledWeightDecay


def _by_name(base: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    code = base.__init__.__code__
    names = code.co_varnames[1 : code.co_argcount]
    return {**dict(zip(names, args, strict=False)), **kwargs}


class MomentumWOptimizer(DecoupledWeightDecayExtension, tf.train.MomentumOptimizer):
    """Momentum with weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class AdamWOptimizer(DecoupledWeightDecayExtension, tf.train.AdamOptimizer):
    """Adam with weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )
