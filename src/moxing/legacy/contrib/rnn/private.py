"""Private attributes of the cells of `tf.nn.rnn_cell` that programs' own subclasses read."""

from __future__ import annotations

from typing import Any

_WRAPPERS = ("DeviceWrapper", "DropoutWrapper", "ResidualWrapper")


class _Wrapped:
    """The wrapped cell, until a subclass sets the attribute to something else."""

    def __get__(self, wrapper: Any, kind: type | None = None) -> Any:
        return self if wrapper is None else wrapper.cell


def restore() -> None:
    """Gives the wrappers `_cell`, as the wrapped cell was called until TensorFlow 1.13."""
    from tensorflow.compat.v1.nn import rnn_cell

    for name in _WRAPPERS:
        wrapper = getattr(rnn_cell, name)
        if not hasattr(wrapper, "_cell"):
            wrapper._cell = _Wrapped()
