"""Lets a variable of a graph be true, as any object is, and as it was in TensorFlow 1.x."""

from __future__ import annotations

from typing import Any


def install() -> None:
    """From now on `if variable:` asks whether there is one; eagerly it asks for its value."""
    from tensorflow.python.eager import context
    from tensorflow.python.ops import resource_variable_ops

    kind: Any = resource_variable_ops.BaseResourceVariable
    of_value = kind.__bool__
    if getattr(of_value, "graphs_too", False):
        return

    def __bool__(self: Any) -> bool:
        return bool(of_value(self)) if context.executing_eagerly() else True

    __bool__.graphs_too = True  # type: ignore[attr-defined]
    kind.__bool__ = kind.__nonzero__ = __bool__
