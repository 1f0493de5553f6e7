"""A factor of every learning rate of a run, which a hook can control.

The factor multiplies the learning rate inside the optimizer, as if the user had written another
number there. That is right for every optimizer. A factor of the gradients would have no effect with
Adam, RMSProp, Adagrad and Adadelta, which divide by the size of gradients. A factor of the update
would be wrong for FTRL and other optimizers that compute a variable from sums over all steps,
because these sums contain the learning rate of each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import run_context
from moxing.errors import MoxNotSupportedError, MoxRuntimeError

# The attributes in which tf.train's optimizers, and others like them, keep the learning rate.
_RATE = ("_learning_rate", "_lr")
# The attributes in which wrappers keep the optimizer that they wrap.
_INSIDE = ("optimizer", "_optimizer", "_opt")


@dataclass
class _Rates:
    """The factor of a graph, and the learning rates that it multiplies."""

    factor: tf.Tensor
    rates: list[Any] = field(default_factory=list)
    scaled: list[tf.Tensor] = field(default_factory=list)
    unknown: list[tf.train.Optimizer] = field(default_factory=list)
    taken: bool = False


@contextmanager
def scalable(optimizers: Sequence[tf.train.Optimizer]) -> Iterator[None]:
    """In the block, the optimizers build operations whose learning rates `take` can scale.

    After the block each optimizer has its own rate again: several runs may use one optimizer.

    Args:
        optimizers: the optimizers of the current graph, each perhaps inside wrappers.
    """
    found = _Rates(tf.constant(1.0, name="learning_rate_factor"))
    run_context.current().learning_rates = found
    kept: list[tuple[Any, str, Any]] = []
    try:
        for optimizer in {id(one): one for one in map(_innermost, optimizers)}.values():
            name = next((name for name in _RATE if hasattr(optimizer, name)), None)
            if name is None:
                found.unknown.append(optimizer)
                continue
            own = getattr(optimizer, name)
            rate = _called(own)
            try:
                scaled = _product(rate, found.factor)
            except (TypeError, ValueError):
                continue  # Not a learning rate: the optimizer raises its own error when it is used.
            kept.append((optimizer, name, own))
            found.rates.append(rate)
            found.scaled.append(scaled)
            setattr(optimizer, name, scaled)
        yield
    finally:
        for optimizer, name, own in kept:
            setattr(optimizer, name, own)


def shown() -> dict[str, tf.Tensor]:
    """The learning rates of the current graph's updates: `learning_rate`, `learning_rate_1`, ...

    An optimizer that keeps its rate elsewhere can have a method `shown_rate`, which returns it as a
    scalar tensor, or None.
    """
    found = run_context.current().learning_rates
    if not isinstance(found, _Rates):
        return {}
    told = (getattr(one, "shown_rate", lambda: None)() for one in found.unknown)
    rates = [*found.scaled, *(rate for rate in told if rate is not None)]
    return {
        "learning_rate" + (f"_{number}" if number else ""): rate
        for number, rate in enumerate(rates)
        if rate.shape.rank in (0, None)
    }


def rate_of(optimizer: Any) -> tf.Tensor | None:
    """The learning rate of an optimizer of tf.train, or of Keras in a graph; None if unknown."""
    inner = _innermost(optimizer)
    with tf.control_dependencies(None):
        if hasattr(inner, "_decayed_lr"):  # The method of Keras' optimizers before TensorFlow 2.11.
            return inner._decayed_lr(tf.float32)
        kept = next((getattr(inner, name) for name in _RATE if hasattr(inner, name)), None)
        try:
            return None if kept is None else tf.convert_to_tensor(_called(kept))
        except (TypeError, ValueError):  # Not a learning rate.
            return None


def take(factor: tf.Variable, who: str) -> list[Any]:
    """Makes a variable the factor of every learning rate of the current graph.

    Args:
        factor: float32 scalar.
        who: the class of the hook that asks, for messages.

    Returns:
        The learning rates without the factor, one for each optimizer: numbers or scalar tensors.

    Raises:
        MoxNotSupportedError: the attribute that holds an optimizer's learning rate is not known.
        MoxRuntimeError: another hook has taken the learning rates.
    """
    found = run_context.current().learning_rates
    if not isinstance(found, _Rates):
        raise MoxRuntimeError(f"{who}: this run trains nothing, so it has no learning rate.")
    if found.unknown:
        raise MoxNotSupportedError(
            f"{who} can't find the learning rate of {type(found.unknown[0]).__name__}. Use an"
            " optimizer of tf.train or mox.get_optimizer_fn, or keep the rate in"
            " self._learning_rate."
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


def _innermost(optimizer: Any) -> Any:
    for name in _INSIDE:
        inside = getattr(optimizer, name, None)
        if isinstance(inside, tf.train.Optimizer):
            return _innermost(inside)
    return optimizer


def _called(rate: Any) -> Any:
    return rate() if callable(rate) and not isinstance(rate, tf.Variable) else rate


def _product(rate: Any, factor: tf.Tensor) -> tf.Tensor:
    tensor = tf.convert_to_tensor(rate)
    if tensor.dtype.is_integer:
        tensor = tf.cast(tensor, tf.float32)
    return tensor * tf.cast(factor, tensor.dtype)
