"""The variables of a graph, as a checkpoint knows them: by name, shape and dtype."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf


@dataclass(frozen=True, eq=False)
class Entry:
    """One variable, or one slice of a partitioned variable.

    Attributes:
        variable: the variable, or the slice, in the graph.
        name: the name under which the variable is saved; slices share their variable's name.
        shape: shape of the whole variable; None: the graph does not know it.
        dtype: base dtype, never a reference type.
        slice_spec: which part of the whole variable this is, in TensorFlow's notation; empty: all.
    """

    variable: tf.Variable
    name: str
    shape: tuple[int, ...] | None
    dtype: tf.DType
    slice_spec: str = ""


def entries(variables: Iterable[Any]) -> list[Entry]:
    """Describes variables; a partitioned variable counts as its slices."""
    return [_entry(variable) for variable in flat(variables)]


def flat(variables: Iterable[Any]) -> list[tf.Variable]:
    """The variables, with each partitioned variable replaced by its slices."""
    result: list[tf.Variable] = []
    for item in variables:
        # v1's own tf.Variable is not a base class of resource variables.
        if isinstance(item, tf.compat.v2.Variable):
            result.append(item)
        else:
            result.extend(item)
    return result


def _entry(variable: tf.Variable) -> Entry:
    dtype = variable.dtype.base_dtype
    part = variable._get_save_slice_info()
    if part is not None:
        return Entry(variable, part.full_name, tuple(part.full_shape), dtype, part.spec)
    shape = tuple(variable.shape.as_list()) if variable.shape.is_fully_defined() else None
    return Entry(variable, variable.op.name, shape, dtype)
