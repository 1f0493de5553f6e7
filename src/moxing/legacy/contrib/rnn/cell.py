"""The base class of openmox's RNN cells, whose `call` AutoGraph does not convert."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell
from tensorflow.python.autograph.impl.api import autograph_artifact

_OURS = __name__.partition(".")[0]
# Where a layer of TensorFlow 1.x keeps its variables for checkpoints, and the scopes of its calls.
_VARIABLES = ("_self_unconditional_checkpoint_dependencies", "_self_unconditional_dependency_names")
_SCOPES = ("_always_reuse_variable_scope", "rnncell_scope")


def _keep_python(cls: type) -> None:
    """Keeps AutoGraph from converting a class: it takes a second per cell, and hides errors."""
    call = cls.__dict__.get("call")
    if call is not None and cls.__module__.partition(".")[0] == _OURS:
        # do_not_convert() would hide the signature, which Keras reads.
        autograph_artifact(call)


class Cell(rnn_cell.RNNCell):
    """Base class of openmox's RNN cells."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _keep_python(cls)


def unbuilt(cell: Any) -> Any:
    """A copy of a cell that makes its own variables when it is called.

    Args:
        cell: an RNN cell, which may have variables already: those of a bucket before.
    """
    memo: dict[int, Any] = {}
    for layer in _layers(cell):
        for name in _VARIABLES:
            held = getattr(layer, name, None)
            if held:
                memo[id(held)] = type(held)()
        # Neither can be copied: the call makes new ones. A cell whose class does not call the base
        # class's __init__ has no list of variables.
        variables = getattr(layer, "weights", [])
        kept = [*variables, *(vars(layer)[name] for name in _SCOPES if name in vars(layer))]
        memo.update({id(value): value for value in kept})
    copied = copy.deepcopy(cell, memo)
    for layer in _layers(copied):
        layer.built = False
        layer._trainable_weights, layer._non_trainable_weights = [], []
        layer._scope = None
        for name in _SCOPES:
            layer.__dict__.pop(name, None)
    return copied


def _layers(value: Any) -> Iterator[Any]:
    """A cell and all cells that it holds."""
    if isinstance(value, tf.Module):
        yield value
        for held in list(vars(value).values()):
            yield from _layers(held)
    elif isinstance(value, (list, tuple)):
        for held in value:
            yield from _layers(held)
