"""Gives a second model the first model's variables that were made without tf.get_variable.

Keras' layers and tf.Variable ignore `reuse` of a variable scope. In a second call of
model_fn their names also get numbers: a layer `hidden` makes `hidden_1/kernel`, which is the first
call's `hidden/kernel`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow.compat.v1 as tf

_NUMBER = re.compile(r"_\d+(?=/|$)")


class Reuse:
    """A variable creator that returns the first model's variable of the requested name, if any.

    If several variables' names differ only in numbers, as for the layers `dense` and `dense_1`,
    each request gets the next variable: both calls of model_fn build their layers in the same
    order.

    Args:
        variables: the first model's variables, in the order in which they were made.
    """

    def __init__(self, variables: Iterable[tf.Variable]) -> None:
        self._left: dict[str, list[tf.Variable]] = {}
        for variable in variables:
            self._left.setdefault(_plain(variable.op.name), []).append(variable)

    def __call__(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        collections = kwargs.get("collections")
        if collections is not None and tf.GraphKeys.GLOBAL_VARIABLES not in collections:
            return next_creator(**kwargs)
        scope = tf.get_default_graph().get_name_scope()
        name = kwargs.get("name") or "Variable"
        left = self._left.get(_plain(f"{scope}/{name}" if scope else name))
        return left.pop(0) if left else next_creator(**kwargs)


def _plain(name: str) -> str:
    return _NUMBER.sub("", name)
