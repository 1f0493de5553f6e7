"""`CrossShardOptimizer`: on a TPU, the mean of gradients over its cores."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf


def CrossShardOptimizer(  # noqa: N802 - the name of TensorFlow's class
    opt: tf.train.Optimizer,
    reduction: Any = None,
    name: str = "CrossShardOptimizer",
    group_assignment: Any = None,
) -> tf.train.Optimizer:
    """Returns `opt` itself: a run always averages gradients over devices and processes.

    Args:
        opt: the optimizer.
        reduction, name, group_assignment: not used.
    """
    del reduction, name, group_assignment
    return opt
