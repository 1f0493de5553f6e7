"""Wraps optimizers to average variables or to limit their norms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError


class MovingAverageOptimizer(tf.train.Optimizer):
    """Keeps moving averages of the variables, which a swapping saver writes in their place."""

    def __init__(
        self,
        opt: Any,
        average_decay: Any = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        """Args: sequential_update: whether the averages are updated after the step."""
        super().__init__(False, "MovingAverageOptimizer")
        self._optimizer, self._sequential = opt, sequential_update
        self._ema = tf.train.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped: dict[str, Any] | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the wrapped optimizer's method."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Builds the optimizer's step and the update of the averages."""
        grads_and_vars = list(grads_and_vars)
        step = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        variables = [variable for _, variable in grads_and_vars]
        with tf.control_dependencies([step] if self._sequential else []):
            averages = self._ema.apply(variables)
        self._swapped = {}
        for variable in variables:
            average = self._ema.average(variable)
            self._swapped[variable.op.name] = average
            self._swapped[average.op.name] = variable
        return tf.group(step, averages, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Any:
        """Returns a `tf.train.Saver` that swaps the names of variables and their averages.

        Raises:
            MoxValueError: `apply_gradients` was not called, or `var_list` lacks an average.
        """
        if self._swapped is None:
            raise MoxValueError("Must call apply_gradients or minimize before swapping_saver.")
        variables = tf.global_variables() if var_list is None else var_list
        if not isinstance(variables, Mapping):
            variables = {variable.op.name: variable for variable in variables}
        missing = [
            key for key, other in self._swapped.items() if key in variables and other is None
        ]
        if missing:
            raise MoxValueError(f"Variables to swap are missing: {missing}.")
        swapped = {key: self._swapped.get(key, value) for key, value in variables.items()}
        return tf.train.Saver(swapped, name=name, **kwargs)


class VariableClippingOptimizer(tf.train.Optimizer):
    """Limits the norm of variables after each step."""

    def __init__(
        self,
        opt: Any,
        vars_to_clip_dims: Mapping[Any, Sequence[int]],
        max_norm: Any,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        """Args: vars_to_clip_dims: by variable, the dimensions over which its norm is computed."""
        super().__init__(use_locking, name)
        self._optimizer, self._max_norm = opt, max_norm
        self._dims = [(variable, list(dims)) for variable, dims in vars_to_clip_dims.items()]

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the wrapped optimizer's method."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Builds the optimizer's step, followed by the clipping of variables."""
        step = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step)
        with tf.control_dependencies([step]):
            limited = [
                tf.assign(variable, tf.clip_by_norm(variable, self._max_norm, dims))
                for variable, dims in self._dims
            ]
        return tf.group(*limited, name=name or self._name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the wrapped optimizer's method."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the wrapped optimizer's method."""
        return self._optimizer.get_slot_names(*args, **kwargs)


def clip_gradients_by_global_norm(
    gradients_variables: Sequence[tuple[Any, Any]], clip_norm: float = 20.0
) -> list[tuple[Any, Any]]:
    """Clips gradients to a global norm of at most `clip_norm`; returns the pairs."""
    gradients, variables = zip(*gradients_variables, strict=True)
    clipped, _ = tf.clip_by_global_norm(list(gradients), clip_norm)
    return list(zip(clipped, variables, strict=True))
