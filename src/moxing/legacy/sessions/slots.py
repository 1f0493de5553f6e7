"""Optimizers and moving averages in a variable scope that reuses its variables.

Until TensorFlow 0.11, they made variables of their own by `tf.Variable`, also in such a scope; many
programs of 2016 call `tf.get_variable_scope().reuse_variables()` before `minimize`. Later
TensorFlow ended these programs with "Variable w/Adam/ does not exist".
"""

from __future__ import annotations

import functools
from typing import Any


def install() -> None:
    """From now on, a scope that reuses variables makes the slots that do not exist yet."""
    from tensorflow.python.training import slot_creator

    original: Any = slot_creator._create_slot_var
    if not hasattr(original, "makes_missing"):
        slot_creator._create_slot_var = _making_missing(original)


def uninstall() -> None:
    """Undoes `install`."""
    from tensorflow.python.training import slot_creator

    function: Any = slot_creator._create_slot_var
    if hasattr(function, "makes_missing"):
        slot_creator._create_slot_var = function.__wrapped__


def _making_missing(original: Any) -> Any:
    import tensorflow.compat.v1 as tf

    @functools.wraps(original)
    def create(*given: Any, **named: Any) -> Any:
        scope: Any = tf.get_variable_scope()
        if scope.reuse is not True:
            return original(*given, **named)
        scope._reuse = tf.AUTO_REUSE
        try:
            return original(*given, **named)
        finally:
            scope._reuse = True

    create.makes_missing = True  # type: ignore[attr-defined]
    return create
