"""Replaces conditionals by which TensorFlow spares work, where they cost more than they spare.

TensorFlow puts an assertion about numbers into a conditional, so that a GPU's tensors are not
copied to the host in every step, and counts zeros in one, to choose the type of the sum. On a CPU
there is nothing to copy, and such a conditional costs a dozen operations and the single-threaded
executor, which runs no conditionals: see `tf_executor`.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import control_flow_assert, nn_impl

from moxing.engine.graph import devices


@functools.cache
def install() -> None:
    """From now on, all graphs of this process have such work without conditionals."""
    control_flow_assert.cond = _standing_for(control_flow_assert.cond, _failing)
    nn_impl.tf_cond = _standing_for(nn_impl.tf_cond, _any_size)


def static(predicate: Any, true_fn: Any = None, false_fn: Any = None, **options: Any) -> Any:
    """`tf.cond`, which makes only the branch that is taken if the graph holds the predicate."""
    value = tf.get_static_value(predicate)
    if value is None:
        return tf.cond(predicate, true_fn, false_fn, **options)
    return true_fn() if value else false_fn()


def _standing_for(module: types.ModuleType, plain: Callable[..., Any]) -> Any:
    """Stands for the module of conditionals in a module that needs its `cond` alone."""
    original = module.cond

    def cond(predicate: tf.Tensor, true_fn: Any, false_fn: Any, name: str | None = None) -> Any:
        if devices.has_gpu() or tf.executing_eagerly():
            return original(predicate, true_fn, false_fn, name=name)
        return plain(true_fn, false_fn)

    return types.SimpleNamespace(cond=cond)


def _failing(_: Callable[[], Any], fails: Callable[[], tf.Operation]) -> Any:
    """An assertion, as a conditional's result; the operation itself reads the predicate."""
    return types.SimpleNamespace(op=fails())


def _any_size(_: Callable[[], Any], large: Callable[[], tf.Tensor]) -> tf.Tensor:
    """A count of a tensor of any size, whose sum is int64."""
    return large()
