"""Captures the variable updates of a model function, so that the engine applies them.

A model function of an Estimator builds its own update: `optimizer.minimize(loss, global_step)`. But
its gradients must first be averaged with the gradients of other devices and processes. So while the
function runs, `apply_gradients` only records its arguments, and returns an operation that does
nothing. Once the engine has the mean gradients, it builds the real update. Every operation that the
function made dependent on the empty one (an average of the weights, a group) runs after the update.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError
from moxing.estimator.modeling.global_step import uncounted

# The optimizer classes of Keras, imported here because the model function may import Keras first.
_KERAS = (
    ("tf_keras.src.optimizers.legacy.optimizer_v2", "OptimizerV2"),
    ("tf_keras.src.optimizers.optimizer", "Optimizer"),
)


@dataclass(frozen=True)
class Update:
    """One call of `apply_gradients`.

    Attributes:
        optimizer: the optimizer whose method was called.
        apply: builds the real update from (gradient, variable) pairs, without the global step.
        pairs: the (gradient, variable) pairs of the call.
        done: the operation that stands for the update in the model function's graph.
    """

    optimizer: Any
    apply: Callable[[list[Any]], tf.Operation]
    pairs: tuple[tuple[Any, Any], ...]
    done: tf.Operation


@contextmanager
def captured() -> Iterator[list[Update]]:
    """In the block, optimizers record their updates in the yielded list and build none."""
    noted: list[Update] = []
    with ExitStack() as stack:
        for kind in _of_v1_kinds():
            stack.enter_context(_replaced(kind, _of_v1(noted)))
        stack.enter_context(_replaced(tf.train.SyncReplicasOptimizer, _of_wrapper))
        stack.enter_context(
            _replaced(tf.train.SyncReplicasOptimizer, _idle_hook, "make_session_run_hook")
        )
        stack.enter_context(_following(noted))
        stack.enter_context(uncounted())
        for module, name in _KERAS:
            kind = getattr(importlib.import_module(module), name)
            stack.enter_context(_replaced(kind, _of_keras(noted)))
        yield noted


def _of_v1_kinds() -> Iterator[Any]:
    """Yields the `tf.train.Optimizer` classes that define their own `apply_gradients`."""
    found, waiting = [], [tf.train.Optimizer]
    while waiting:
        kind = waiting.pop()
        waiting += (below for below in kind.__subclasses__() if below not in (*found, *waiting))
        found.append(kind)
    for kind in found:
        if "apply_gradients" in kind.__dict__ and kind is not tf.train.SyncReplicasOptimizer:
            yield kind


@contextmanager
def _following(noted: list[Update]) -> Iterator[None]:
    """In the block, also captures the updates of optimizer classes that the block defines."""
    with ExitStack() as stack:

        def made(kind: Any, **keywords: Any) -> None:
            super(tf.train.Optimizer, kind).__init_subclass__(**keywords)
            if "apply_gradients" in kind.__dict__:
                stack.enter_context(_replaced(kind, _of_v1(noted)))

        tf.train.Optimizer.__init_subclass__ = classmethod(made)
        try:
            yield
        finally:
            del tf.train.Optimizer.__init_subclass__


@contextmanager
def _replaced(
    kind: Any,
    make: Callable[[Callable[..., Any]], Callable[..., Any]],
    method: str = "apply_gradients",
) -> Iterator[None]:
    original = kind.__dict__[method]
    setattr(kind, method, make(original))
    try:
        yield
    finally:
        setattr(kind, method, original)


def _of_v1(noted: list[Update]) -> Callable[..., Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(
            self: Any, grads_and_vars: Any, global_step: Any = None, name: str | None = None
        ) -> tf.Operation:
            del global_step  # The engine counts the steps.

            def apply(pairs: list[Any]) -> tf.Operation:
                # The apply_gradients of a program's own optimizer may not take a name.
                return tf.group(original(self, pairs, **({"name": name} if name else {})))

            return _note(noted, self, apply, grads_and_vars, name)

        return apply_gradients

    return make


def _of_wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
    """Makes SyncReplicasOptimizer call its inner optimizer directly: the engine synchronizes."""
    del original

    def apply_gradients(
        self: Any, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    return apply_gradients


def _idle_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    """Makes SyncReplicasOptimizer return a hook without work, before its update or behind it."""
    del original
    return lambda self, *_, **__: tf.train.SessionRunHook()


def _of_keras(noted: list[Update]) -> Callable[..., Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply_gradients(
            self: Any, grads_and_vars: Any, name: str | None = None, **others: Any
        ) -> tf.Operation:
            if not hasattr(self, "get_updates"):
                raise MoxNotSupportedError(
                    f"{type(self).__name__} of Keras can't be used in the graph of a model_fn. Use"
                    f" tf.keras.optimizers.legacy.{type(self).__name__}, or an optimizer of"
                    " tf.train."
                )

            def apply(pairs: list[Any]) -> tf.Operation:
                made = original(self, pairs, name=name, **others)
                return made if isinstance(made, tf.Operation) else made.op

            return _note(noted, self, apply, grads_and_vars, name)

        return apply_gradients

    return make


def _note(
    noted: list[Update],
    optimizer: Any,
    apply: Callable[[list[Any]], tf.Operation],
    grads_and_vars: Any,
    name: str | None,
) -> tf.Operation:
    pairs = tuple(grads_and_vars)
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise MoxTypeError(
            f"{type(optimizer).__name__}.apply_gradients() needs pairs of a gradient and a"
            " variable, such as compute_gradients() returns."
        )
    done = tf.no_op(name=name or "update")
    graph: Any = done.graph
    if done._get_control_flow_context() is not None or not isinstance(graph, tf.Graph):
        raise _inside()
    if graph.building_function:
        raise _inside()
    noted.append(Update(optimizer, apply, pairs, done))
    return done


def _inside() -> MoxNotSupportedError:
    return MoxNotSupportedError(
        "model_fn applies gradients inside tf.cond or tf.while_loop, so that some steps would not"
        " update: openmox makes one update a step. Call minimize() or apply_gradients() outside;"
        " for larger batches, raise the batch size of input_fn."
    )
