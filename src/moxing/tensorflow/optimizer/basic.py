"""TensorFlow's own v1 optimizers by short name, with every argument checked before the run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, near_matches
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
    """A function without arguments that makes a built-in optimizer in the current graph.

    Args:
      name: 'adadelta', 'adagrad', 'adam', 'ftrl', 'momentum', 'rmsprop' or 'sgd'.
      learning_rate: a positive number, a scalar tensor of the graph being built, or a function
        without arguments that makes either; the function is called when the optimizer is made.
      scope: name scope of the operations made with the optimizer. Names of variables, and so
        checkpoints, do not depend on it.
      *args: further positional arguments of the TensorFlow class, those after `learning_rate`.
      **kwargs: keyword arguments of the TensorFlow class (`tf.compat.v1.train.*Optimizer`).

    Returns:
      The function to give to `mox.run(optimizer_fn=...)`; each call makes a new optimizer.

    Raises:
      MoxValueError: an unknown name, or a learning rate that is not positive.
      MoxTypeError: an argument that the optimizer does not take or lacks, or a learning rate that
        is not a number.
    """
    cls = _find_class(name)
    _check_arguments(name, cls, args, kwargs)
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


def _check_arguments(
    name: str, cls: type[tf.train.Optimizer], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    parameters = list(inspect.signature(cls.__init__).parameters.values())[2:]
    # `name` is taken by get_optimizer_fn itself, so nobody could pass it on by keyword.
    legal = [parameter.name for parameter in parameters if parameter.name != "name"]
    for keyword in kwargs:
        if keyword not in legal:
            raise MoxTypeError(
                f"{_WHERE}: optimizer {name!r} has no argument {keyword!r}."
                f"{near_matches(keyword, legal)} It takes: {', '.join(sorted(legal))}."
            )
    try:
        inspect.Signature(parameters).bind(*args, **kwargs)
    except TypeError as error:
        raise MoxTypeError(
            f"{_WHERE}: optimizer {name!r}: {error}. It takes: {', '.join(sorted(legal))}."
        ) from None
