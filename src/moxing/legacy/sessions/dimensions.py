"""Lets static shapes hold what TensorFlow 1.x took for a size: `8 / 2`, `True` and `'3'`.

Python 3 divides integers to floats, so sizes of programs are often whole floats; and programs
count with truth values. Sizes are also numbers beside floats: programs that were written for the
`tf.compat.v1` of TensorFlow 2, whose sizes are Python's integers, divide losses by them.
"""

from __future__ import annotations

from typing import Any


def install() -> None:
    """From now on `tf.Dimension`, and so every shape, takes values that are equal to an integer."""
    import tensorflow.compat.v1 as tf

    start: Any = tf.Dimension.__init__
    if hasattr(start, "mox_strict"):
        return

    def __init__(self: Any, value: Any) -> None:
        start(self, _whole(value) if isinstance(value, bool | float | str) else value)

    __init__.mox_strict = start  # type: ignore[attr-defined]
    tf.Dimension.__init__ = __init__
    # The conversion stays after `uninstall`, which it asks for.
    tf.register_tensor_conversion_function(tf.Dimension, _as_float, priority=99)


def uninstall() -> None:
    """Undoes `install`."""
    import tensorflow.compat.v1 as tf

    tf.Dimension.__init__ = getattr(tf.Dimension.__init__, "mox_strict", tf.Dimension.__init__)


def _as_float(size: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    """Converts a size to a tensor beside tensors of floats; TensorFlow converts all others."""
    import tensorflow.compat.v1 as tf

    installed = hasattr(tf.Dimension.__init__, "mox_strict")
    if not installed or dtype is None or not dtype.is_floating or size.value is None:
        return NotImplemented
    return tf.constant(size.value, dtype, name=name or "shape_as_tensor")


def _whole(value: Any) -> int:
    """Returns the value as an integer.

    Raises:
        ValueError: the value is not whole.
    """
    whole = int(value)
    if not isinstance(value, str) and whole != value:
        raise ValueError(f"Ambiguous dimension: {value}: a size must be a whole number.")
    return whole
