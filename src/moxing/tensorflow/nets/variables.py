"""Makes the zoo's variables with `get_variable`, so that scopes, getters and reuse apply."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.style import Initializer

_COLLECTIONS = [tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES]


def variable(
    name: str,
    shape: Sequence[int],
    dtype: tf.DType,
    initializer: Initializer,
    *,
    decay: float = 0.0,
    trainable: bool = True,
) -> tf.Tensor:
    """Returns a variable of the current scope, or the result of the scope's custom getter.

    A `decay` above 0.0 adds an L2 loss to `REGULARIZATION_LOSSES` when the variable is made, but
    not when it is reused. The loss is that of the stored variable: with a getter that keeps float32
    masters of float16 variables, the loss is that of the master.
    """
    return tf.get_variable(
        name,
        list(shape),
        dtype,
        initializer,
        regularizer=_l2(decay) if decay else None,
        trainable=trainable,
        collections=_COLLECTIONS,
    )


def _l2(scale: float) -> Callable[[tf.Tensor], tf.Tensor]:
    def loss(weights: tf.Tensor) -> tf.Tensor:
        # The sum of squares of a large layer overflows float16.
        total = scale * tf.nn.l2_loss(tf.cast(weights, tf.float32))
        return tf.cast(total, weights.dtype.base_dtype)

    return loss
