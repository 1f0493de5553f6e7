"""Leaves out a mark on operations that makes TensorFlow warn programs of Keras at every turn.

Who names an operation in `tf.control_dependencies` gets it marked, for a compiler that only TPUs
need. Keras in graph mode does so with operations that have run already, and TensorFlow's native
code then says on standard error that an error may follow some day. Nobody can act on that.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

_MARK = "_has_manual_control_dependencies"


def leave_out() -> None:
    """From now on operations do not get the mark."""
    original = tf.Operation._set_attr
    if getattr(original, "leaves_out_marks", False):
        return

    def set_attr(self: Any, name: str, value: Any) -> None:
        if name != _MARK:
            original(self, name, value)

    set_attr.leaves_out_marks = True  # type: ignore[attr-defined]
    tf.Operation._set_attr = set_attr
