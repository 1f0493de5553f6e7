"""A factor of every learning rate of a run, which a hook may take into its hands.

It multiplies the learning rate itself, where the optimizer keeps it, as a user does who writes
another number there. That is right for every optimizer. A factor of the gradients would be none for
Adam, RMSProp, Adagrad and Adadelta, which divide by the size of gradients; a factor of the update
would be wrong for FTRL and other optimizers that compute a variable from sums over all steps, in
which each step's rate has its part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import run_context
from moxing.errors import MoxNotSupportedError, MoxRuntimeError

# Where optimizers of tf.train, and those written after them, keep the learning rate.
_RATE = ("_learning_rate", "_lr")
# Where wrappers keep the optimizer inside.
_INSIDE = ("optimizer", "_optimizer", "_opt")


@dataclass
class _Rates:
    """The factor of a graph, and what it multiplies."""

    factor: tf.Tensor
    rates: list[Any] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    taken: bool = False


@contextmanager
def scalable(optimizers: Sequence[tf.train.Optimizer]) -> Iterator[None]:
    """What the optimizers build in the block has learning rates that `take` can scale.

    After the block they have their own again: a program may use one optimizer in several runs.

    Args:
        optimizers: of the current graph; wrappers may be around them.
    """
    found = _Rates(tf.constant(1.0, name="learning_rate_factor"))
    run_context.current().learning_rates = found
    kept: list[tuple[Any, str, Any]] = []
    try:
        for optimizer in {id(one): one for one in map(_innermost, optimizers)}.values():
            name = next((name for name in _RATE if hasattr(optimizer, name)), None)
            if name is None:
                found.unknown.append(type(optimizer).__name__)
                continue
            own = getattr(optimizer, name)
            rate = own() if callable(own) and not isinstance(own, tf.Variable) else own
            try:
                scaled = _product(rate, found.factor)
            except (TypeError, ValueError):
                continue  # No rate at all, which the optimizer says when it is used.
            kept.append((optimizer, name, own))
            found.rates.append(rate)
            setattr(optimizer, name, scaled)
        yield
    finally:
        for optimizer, name, own in kept:
            setattr(optimizer, name, own)


def take(factor: tf.Variable, who: str) -> list[Any]:
    """Makes a variable the factor of every learning rate of the current graph.

    Args:
        factor: float32 scalar.
        who: the class of the hook that asks, for messages.

    Returns:
        The learning rates without the factor, one an optimizer: numbers or scalar tensors.

    Raises:
        MoxNotSupportedError: an optimizer keeps its learning rate where nobody finds it.
        MoxRuntimeError: another hook has taken it.
    """
    found = run_context.current().learning_rates
    if not isinstance(found, _Rates):
        raise MoxRuntimeError(f"{who}: this run trains nothing, so it has no learning rate.")
    if found.unknown:
        raise MoxNotSupportedError(
            f"{who} can't find the learning rate of {found.unknown[0]}. Use an optimizer of"
            " tf.train or mox.get_optimizer_fn, or keep the rate in self._learning_rate."
        )
    if found.taken:
        raise MoxRuntimeError(
            f"{who}: another hook of this run changes the learning rate too. Keep one of them."
        )
    found.taken = True
    with tf.control_dependencies(None):
        value = factor.read_value()
    for consumer in list(found.factor.consumers()):
        for index, tensor in enumerate(consumer.inputs):
            if tensor is found.factor:
                consumer._update_input(index, value)
    return found.rates


def _innermost(optimizer: tf.train.Optimizer) -> tf.train.Optimizer:
    for name in _INSIDE:
        inside = getattr(optimizer, name, None)
        if isinstance(inside, tf.train.Optimizer):
            return _innermost(inside)
    return optimizer


def _product(rate: Any, factor: tf.Tensor) -> tf.Tensor:
    tensor = tf.convert_to_tensor(rate)
    if tensor.dtype.is_integer:
        tensor = tf.cast(tensor, tf.float32)
    return tensor * tf.cast(factor, tensor.dtype)
