"""One cell for inputs of several widths, as before TensorFlow 1.1."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.compat.v1.nn import rnn_cell

from moxing.legacy.contrib.rnn.cell import unbuilt
from moxing.logs import TENSORFLOW

_FIRST = "_mox_first_width"

# By cell, its copies by graph, scope and width. The cell itself must not hold them: it is copied.
_others: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def install() -> None:
    """Has TensorFlow's cells take inputs of another width than that of their first call.

    Until TensorFlow 1.0 a cell made its variables in the scope of each call. Later a cell has the
    variables of its first call, and an input of another width was an error. So such a call is one
    of a program of that time: the cell gets variables of its own in the scope of the call.
    """
    layer = next(kind for kind in rnn_cell.BasicLSTMCell.__mro__ if "__call__" in vars(kind))
    call = layer.__call__
    if hasattr(call, "__wrapped__"):
        return

    @functools.wraps(call)
    def called(self: Any, inputs: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        return call(_of_width(self, inputs), inputs, state, *args, **kwargs)

    layer.__call__ = called


def _of_width(cell: Any, inputs: Any) -> Any:
    """The cell, or the copy that has variables for inputs of this width in the current scope."""
    width = tf.dimension_value(inputs.shape[-1]) if isinstance(inputs, tf.Tensor) else None
    first = vars(cell).setdefault(_FIRST, width)
    if width is None or first is None or width == first or not cell.built:
        return cell
    others = _others.setdefault(cell, {})
    place = (tf.get_default_graph(), tf.get_variable_scope().name, width)
    if place not in others:
        TENSORFLOW.warning(
            "One %s is called with inputs of %d and of %d columns; it has other variables for "
            "each, as before TensorFlow 1.1. Later versions ended with an error.",
            type(cell).__name__,
            first,
            width,
        )
        copy = unbuilt(cell)
        vars(copy)[_FIRST] = width
        others[place] = copy
    return others[place]
