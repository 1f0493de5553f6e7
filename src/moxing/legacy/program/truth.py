"""Makes graph variables true in conditions, and tensors without a length, as in TensorFlow 1.x."""

from __future__ import annotations

from typing import Any


class NoLengthError(AttributeError, TypeError):
    """A tensor of a graph was asked for its length: a TypeError by `len`, False by `hasattr`."""


class _NoLength:
    """The attribute `__len__` of tensors that have none."""

    def __get__(self, tensor: Any, kind: type | None = None) -> Any:
        raise NoLengthError(
            f"len() of {'a tensor' if tensor is None else tensor.name}: a tensor of a graph has"
            " no length. Take x.shape[0] if the size is known, and tf.shape(x)[0] if it is not."
        )


def install() -> None:
    """Makes `if variable:` true for any graph variable; in eager mode, it tests the value.

    Programs tell lists from tensors by `hasattr(x, "__len__")`, so tensors of graphs lose theirs,
    which only raised an error.
    """
    from tensorflow.python.framework import tensor

    # Eager tensors derive from this class and have a method of their own.
    kind: Any = tensor.Tensor
    kind.__len__ = _NoLength()
    _of_variables()


def _of_variables() -> None:
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
