"""TensorFlow's v1 optimizers by short name, with all arguments checked before the run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, near_matches
from moxing.tensorflow.optimizer.arguments import check_arguments
from moxing.tensorflow.optimizer.keys import OptimizerKeys
from moxing.tensorflow.optimizer.learning_rate import check_learning_rate, resolve_learning_rate

_WHERE = "get_optimizer_fn"

_CLASSES: dict[str, type[tf.train.Optimizer]] = {
    OptimizerKeys.ADADELTA: tf.train.AdadeltaOptimizer,
    OptimizerKeys.ADAGRAD: tf.train.AdagradOptimizer,
    OptimizerKeys.ADAM: tf.train.AdamOptimizer,
    OptimizerKeys.FTRL: tf.train.FtrlOptimizer,
    OptimizerKeys.MOMENTUM: tf.train.MomentumOptimizer,
    OptimizerKeys.RMSPROP: tf.train.RMSPropOptimizer,
    OptimizerKeys.SGD: tf.train.GradientDescentOptimizer,
}


def get_optimizer_fn(
    name: str, learning_rate: Any, scope: str | None = None, *args: Any, **kwargs: Any
) -> Callable[[], tf.train.Optimizer]:
    """Returns a function without arguments that makes an optimizer in the current graph.

    Args:
      name: 'adadelta', 'adagrad', 'adam', 'ftrl', 'momentum', 'rmsprop' or 'sgd'.
      learning_rate: a positive number, a scalar tensor of the graph being built, or a function
        without arguments that returns either, called when the optimizer is made.
      scope: the name scope of the optimizer's operations. Names of variables, and so checkpoints,
        do not depend on it.
      *args: the positional arguments of the TensorFlow class after `learning_rate`.
      **kwargs: keyword arguments of the TensorFlow class (`tf.compat.v1.train.*Optimizer`).

    Returns:
      A function for `mox.run(optimizer_fn=...)`; each call makes a new optimizer.

    Raises:
      MoxValueError: the name is unknown, or the learning rate is not positive.
      MoxTypeError: an argument is unknown or missing, or the learning rate is not a number.
    """
    cls = _find_class(name)
    check_arguments(f"{_WHERE}: optimizer {name!r}", cls, args, kwargs)
    check_learning_rate(learning_rate, _WHERE)

    def optimizer_fn() -> tf.train.Optimizer:
        with tf.name_scope(scope) if scope else nullcontext():
            rate = resolve_learning_rate(learning_rate, _WHERE)
            return cls(rate, *args, **kwargs)

    return optimizer_fn


def _find_class(name: Any) -> type[tf.train.Optimizer]:
    if not isinstance(name, str):
        raise MoxTypeError(
            f"{_WHERE}: the name of an optimizer is a string, not {type(name).__name__}. "
            f"Known: {', '.join(_CLASSES)}."
        )
    if name not in _CLASSES:
        raise MoxValueError(
            f"{_WHERE}: unknown optimizer {name!r}.{near_matches(name.lower(), _CLASSES)} "
            f"Known: {', '.join(_CLASSES)}."
        )
    return _CLASSES[name]
