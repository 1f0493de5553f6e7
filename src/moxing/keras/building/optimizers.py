"""Finds a model's optimizers, and records which gradients each of them gets in a training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError

_METHODS = ("apply_gradients", "apply")
_CLASSES = ("Optimizer", "BaseOptimizer", "OptimizerV2")
_ELSEWHERE = "mox.run of moxing.tensorflow takes several losses and optimizers."


@dataclass(frozen=True)
class Applied:
    """A call of an optimizer in a training step.

    Attributes:
        optimizer: the Keras optimizer.
        pairs: each gradient with its variable.
        before: the number of operations that the step's graph had at the call.
    """

    optimizer: Any
    pairs: list[tuple[Any, Any]]
    before: int


def of_model(model: Any) -> list[Any]:
    """Returns the optimizer that the model was compiled with, then the others that it holds.

    A model with a `compile` of its own, such as one with a generator and a discriminator, keeps
    its optimizers in attributes, alone or in lists and dicts.
    """
    found = {id(model.optimizer): model.optimizer}
    for value in vars(model).values():
        several = isinstance(value, (list, tuple, Mapping))
        members = value.values() if isinstance(value, Mapping) else value
        found |= {id(one): one for one in (members if several else [value]) if _is_one(one)}
    return list(found.values())


def others(model: Any) -> list[Any]:
    """Returns the optimizers of the model but for the one that it was compiled with."""
    return [one for one in of_model(model) if one is not model.optimizer]


def _is_one(value: Any) -> bool:
    kinds = type(value).__mro__
    return hasattr(value, "apply_gradients") and any(kind.__name__ in _CLASSES for kind in kinds)


@contextmanager
def noting(optimizers: Sequence[Any], taken: list[Applied], losses: list[Any]) -> Iterator[None]:
    """In the block, the optimizers record gradients and losses, and update nothing."""
    with ExitStack() as stack:
        for optimizer in optimizers:
            stack.enter_context(_noting(optimizer, taken, losses))
        yield


@contextmanager
def _noting(optimizer: Any, taken: list[Applied], losses: list[Any]) -> Iterator[None]:
    def note(pairs: Any, *arguments: Any, **named: Any) -> Any:
        variables = named.get("trainable_variables", arguments[0] if arguments else None)
        if variables is not None and not hasattr(variables, "name"):
            pairs = zip(pairs, variables, strict=True)
        taken.append(Applied(optimizer, list(pairs), len(_operations())))
        return tf.constant(0, tf.int64)

    def scale_loss(loss: Any) -> Any:
        losses.append(loss)
        return original_scale(loss)

    def minimize(loss: Any, *arguments: Any, **named: Any) -> Any:
        losses.append(loss() if callable(loss) else loss)
        return original_minimize(losses[-1] if callable(loss) else loss, *arguments, **named)

    own: dict[str, Any] = dict.fromkeys(_METHODS, note)
    original_scale: Any = getattr(optimizer, "scale_loss", None)
    original_minimize: Any = getattr(optimizer, "minimize", None)
    if original_scale is not None:
        own["scale_loss"] = scale_loss
    elif original_minimize is not None:
        own["minimize"] = minimize
    own = {name: method for name, method in own.items() if hasattr(type(optimizer), name)}
    before = {name: vars(optimizer)[name] for name in own if name in vars(optimizer)}
    vars(optimizer).update(own)
    try:
        yield
    finally:
        for name in own:
            del vars(optimizer)[name]
        vars(optimizer).update(before)


def check(model: Any, taken: Sequence[Applied], plain: Callable[[Any], Any]) -> None:
    """Raises an error unless all gradients may be computed before the first update.

    Processes add up their gradients between the two, so a training step that uses a weight after
    its update would compute something else than under Keras.

    Args:
        model: the model, for messages.
        taken: the calls of optimizers in a training step, whose graph is open.
        plain: returns the TensorFlow variable of a Keras variable.

    Raises:
        MoxNotSupportedError: an optimizer is called twice or none at all, two optimizers update one
            weight, or the step uses a weight behind its update.
    """
    step = f"train_step of {type(model).__name__}"
    for optimizer in {id(one.optimizer): one.optimizer for one in taken}.values() or [None]:
        calls = sum(one.optimizer is optimizer for one in taken)
        if calls != 1:
            raise MoxNotSupportedError(
                f"{step} updates weights {calls} times"
                f" with {'its optimizers' if optimizer is None else type(optimizer).__name__};"
                f" each optimizer must update its weights once in a step. {_ELSEWHERE}"
            )
    updated: dict[int, str] = {}
    for one in taken:
        for _, variable in one.pairs:
            if id(variable) in updated:
                raise MoxNotSupportedError(
                    f"{step} updates {variable.name} with two optimizers; give each weight to one."
                )
            updated[id(variable)] = variable.name
    for one in taken:
        used = _used_behind(one, plain)
        if used:
            raise MoxNotSupportedError(
                f"{step} uses {used} after {type(one.optimizer).__name__} has updated it. fit"
                " computes all gradients of a step before the first update, on all devices and"
                " processes, so the result would not be that of Keras. Compute losses, gradients"
                f" and metrics before the first update, or train otherwise: {_ELSEWHERE}"
            )


def _used_behind(applied: Applied, plain: Callable[[Any], Any]) -> str | None:
    """Returns the name of a weight that an operation behind its update uses; None if none does."""
    graph: Any = tf.get_default_graph()
    inside = {id(outer): inner.name for outer, inner in graph.captures}
    handles: dict[str, str] = {}
    for _, variable in applied.pairs:
        name = inside.get(id(plain(variable).handle))
        if name is not None:
            handles[name] = variable.name
    for operation in _operations()[applied.before :]:
        for tensor in operation.inputs:
            if tensor.name in handles:
                return handles[tensor.name]
    return None


def _operations() -> list[Any]:
    return tf.get_default_graph().get_operations()
