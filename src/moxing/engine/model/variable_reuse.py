"""Hands a second model the variables of the first where they were made without tf.get_variable.

Keras' layers and tf.Variable take no heed of a variable scope that reuses. In a second call of
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
    """A variable creator: what is asked for is the first model's variable of that name, if any.

    Of several whose names differ in numbers alone, such as those of `dense` and `dense_1`, each
    request gets the next one: both calls of model_fn build their layers in the same order.

    Args:
        variables: of the first model, in the order in which they were made.
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
