"""Makes graph variables true in conditions, like any object, as in TensorFlow 1.x."""

from __future__ import annotations

from typing import Any


def install() -> None:
    """Makes `if variable:` true for any graph variable; in eager mode, it tests the value."""
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
