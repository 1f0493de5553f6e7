"""`tf.keras.mixed_precision.experimental` of TensorFlow 2.0 to 2.3, and the graph's rewrite."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tf_keras import mixed_precision, optimizers

from moxing.errors import MoxValueError, shown


def policy(name: str, loss_scale: Any = "auto") -> Any:
    """`Policy`: the dtypes in which layers compute and keep their variables.

    Args:
        name: "mixed_float16", "mixed_bfloat16" or a dtype.
        loss_scale: "auto", a number, "dynamic" or None; models that are compiled under a policy of
            16-bit floats scale their loss dynamically, whatever is given.
    """
    return mixed_precision.Policy(name)


def loss_scale_optimizer(optimizer: Any, loss_scale: Any = "dynamic") -> Any:
    """`LossScaleOptimizer`: an optimizer whose gradients are of a scaled loss.

    Args:
        optimizer: an optimizer of Keras.
        loss_scale: "dynamic", a number, or a LossScale of TensorFlow 2.0 to 2.3.

    Raises:
        MoxValueError: another value.
    """
    make: Any = mixed_precision.LossScaleOptimizer
    return make(optimizer, **_scaling(loss_scale))


def layer_policy(layer: Any) -> Any:
    """`get_layer_policy`: the policy of a layer."""
    return layer.dtype_policy


def _scaling(loss_scale: Any) -> dict[str, Any]:
    if loss_scale == "dynamic":
        return {}
    if isinstance(loss_scale, int | float):
        return {"dynamic": False, "initial_scale": float(loss_scale)}
    old = tf.compat.v1.mixed_precision
    if isinstance(loss_scale, old.FixedLossScale):
        return {
            "dynamic": False,
            "initial_scale": float(loss_scale.get_config()["loss_scale_value"]),
        }
    if isinstance(loss_scale, old.DynamicLossScale):
        found = loss_scale.get_config()
        return {
            "initial_scale": float(found["initial_loss_scale"]),
            "dynamic_growth_steps": int(found["increment_period"]),
        }
    raise MoxValueError(
        f"LossScaleOptimizer: loss_scale is {shown(loss_scale)}; it must be 'dynamic', a number, or"
        " a tf.mixed_precision.experimental.FixedLossScale or DynamicLossScale."
    )


def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """Has TensorFlow compute in 16 bits on a GPU where that is safe, and scales the loss.

    Args:
        opt: an optimizer of Keras or of `tf.compat.v1.train`.
        loss_scale: as of `LossScaleOptimizer`.

    Returns:
        An optimizer that scales the loss.
    """
    if isinstance(opt, tf.compat.v1.train.Optimizer):
        return tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite(opt, loss_scale)
    if not isinstance(opt, optimizers.legacy.Optimizer | optimizers.Optimizer):
        raise MoxValueError(
            f"enable_mixed_precision_graph_rewrite: {shown(opt)} is no optimizer of Keras or of"
            " tf.compat.v1.train."
        )
    tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})
    return loss_scale_optimizer(opt, loss_scale)


def disable_mixed_precision_graph_rewrite() -> None:
    """Has TensorFlow compute as the program says again."""
    tf.config.optimizer.set_experimental_options({"auto_mixed_precision": False})
