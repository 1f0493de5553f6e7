"""The arithmetic operators of blobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.flow.trace import rules
from moxing.flow.trace.blobs import Blob, number, register, tensor_of
from moxing.flow.trace.parallel import by_sample


@by_sample(rules.aligned("x", "y"))
def binary(x: Blob, y: Any, function: Callable[..., Any], swapped: bool = False) -> Blob:
    """`function(x, y)` for a blob and a blob or number; `function(y, x)` if `swapped`."""
    mine = tensor_of(x, "an operator")
    theirs = y.tensor if isinstance(y, Blob) else number(y, x, "an operator")
    result = function(theirs, mine) if swapped else function(mine, theirs)
    # The comparisons of this API are int8.
    return Blob(tf.cast(result, tf.int8) if result.dtype == tf.bool else result)


@by_sample(rules.always)
def negative(x: Blob) -> Blob:
    """-x."""
    return Blob(-tensor_of(x, "an operator"), x.batch_axis)


register("binary", binary)
register("negative", negative)
