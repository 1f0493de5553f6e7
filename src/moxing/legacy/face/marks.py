"""Omits a mark on operations that makes TensorFlow warn Keras programs again and again.

`tf.control_dependencies` marks the operations that it gets, for a compiler that only TPUs need.
Keras in graph mode passes operations that have already run, and TensorFlow's native code then
warns on standard error of a possible later error. Users can't act on that warning.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf

_MARK = "_has_manual_control_dependencies"


def leave_out() -> None:
    """Keeps operations from getting the mark from now on."""
    original = tf.Operation._set_attr
    if getattr(original, "leaves_out_marks", False):
        return

    def set_attr(self: Any, name: str, value: Any) -> None:
        if name != _MARK:
            original(self, name, value)

    set_attr.leaves_out_marks = True  # type: ignore[attr-defined]
    tf.Operation._set_attr = set_attr
