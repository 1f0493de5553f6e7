"""Numbers the operations without a name as the original did, for the names of unnamed layers.

The original has one counter for a process, which gives each operation without a name its number: a
layer after five such operations is `Dense_5`, and a checkpoint has its weight in `Dense_5-weight`.
Some operations took several numbers, and not the same ones in each version. Programs don't say
their version; the way in which a job is declared tells it well enough.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.flow.trace import context, operators
from moxing.flow.trace.blobs import Blob, quotient, register

# Functions with an argument `name` that is not the name of an operation.
_WITHOUT = frozenset({"BlobConf", "get_variable", "name_scope", "variable_scope"})
# Gets a call's arguments by name, the revision of the job, and whether the call has no name;
# returns how many numbers the call takes.
_Count = Callable[[Mapping[str, Any], str, bool], int]


def apply(*modules: types.ModuleType) -> None:
    """Makes the public functions of modules count their calls by programs.

    A function that another one of them calls counts nothing by itself.

    Args:
        modules: modules whose functions are replaced by those that count.
    """
    known: dict[int, Any] = {}
    for module in modules:
        for name, value in list(vars(module).items()):
            if (
                name.startswith("_")
                or name in _WITHOUT
                or not isinstance(value, types.FunctionType)
            ):
                continue
            if id(value) not in known:
                known[id(value)] = _counting(value.__name__, value)
            setattr(module, name, known[id(value)])


def _counting(name: str, function: Any) -> Any:
    places, rule = list(inspect.signature(function).parameters), _RULES.get(name)
    if "name" not in places and rule is None:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context.numbers.operation() as outermost:
            result = function(*args, **kwargs)
            if outermost:
                given = dict(zip(places, args, strict=False)) | kwargs
                own = not isinstance(given.get("name"), str)
                context.numbers.take(_count(rule, given, own))
            return result

    return call


def _count(rule: _Count | None, given: Mapping[str, Any], own: bool) -> int:
    trace = context.current()
    revision = trace.revision if trace is not None else ""
    return int(own) if rule is None else rule(given, revision, own)


def _rank(given: Mapping[str, Any], *names: str) -> int:
    blobs: Iterable[Any] = (given.get(name) for name in names)
    return next((len(blob.static_shape) for blob in blobs if isinstance(blob, Blob)), 0)


def _dense(given: Mapping[str, Any], revision: str, own: bool) -> int:
    reshaped = 2 if _rank(given, "inputs") > 2 else 0
    # From 2020 on the layer gives its activation a name.
    activated = revision < context.MARCH_2020 and given.get("activation") is not None
    return own + reshaped + activated


def _batch_normalization(given: Mapping[str, Any], revision: str, own: bool) -> int:
    if revision < context.JUNE_2020:
        return own
    return own + (not given.get("center", True)) + (not given.get("scale", True))


def _reduce_mean(given: Mapping[str, Any], revision: str, own: bool) -> int:
    return own + (revision >= context.MARCH_2020)


def _sparse_softmax(given: Mapping[str, Any], revision: str, own: bool) -> int:
    if revision >= context.JUNE_2020:
        return own
    return 2 if revision >= context.MARCH_2020 else 1 + own


def _softmax(given: Mapping[str, Any], revision: str, own: bool) -> int:
    axis, rank = given.get("axis"), _rank(given, "logits")
    turned = isinstance(axis, int) and 0 < axis < rank - 1
    return own + 2 * (turned and revision >= context.JUNE_2020)


def _dropout(given: Mapping[str, Any], revision: str, own: bool) -> int:
    trace = context.current()
    if revision < context.JUNE_2020 or trace is None:
        return own
    return 1 + own if trace.conf.is_train and given.get("rate") else 0


def _one_hot(given: Mapping[str, Any], revision: str, own: bool) -> int:
    axis = given.get("axis", -1)
    return own + (axis not in (-1, _rank(given, "indices")))


def _always_before_june(given: Mapping[str, Any], revision: str, own: bool) -> int:
    return own if revision >= context.JUNE_2020 else 1


def _twice_in_june(given: Mapping[str, Any], revision: str, own: bool) -> int:
    return own * (2 if revision >= context.JUNE_2020 else 1)


def _from_number(given: Mapping[str, Any], revision: str, own: bool) -> int:
    """A number minus, or divided by, a blob is an operation on another one's result."""
    return own + (isinstance(given.get("x"), int | float) and isinstance(given.get("y"), Blob))


def _cast(given: Mapping[str, Any], revision: str, own: bool) -> int:
    x, dtype = given.get("x"), given.get("dtype")
    return own and not (isinstance(x, Blob) and dtype is not None and x.dtype == tf.as_dtype(dtype))


def _compat_conv2d(given: Mapping[str, Any], revision: str, own: bool) -> int:
    """A convolution that pads unevenly has an operation for the padding."""
    if not own or str(given.get("padding")).upper() != "SAME":
        return own
    places = slice(2, 4) if str(given.get("data_format", "NHWC")).startswith("NC") else slice(1, 3)
    strides, dilations = (
        [value] * 2 if isinstance(value, int) else list(value)
        for value in (given.get("strides") or 1, given.get("dilations") or 1)
    )
    sizes, kernels = (given[name].static_shape[places] for name in ("input", "filters"))
    needed = [
        (-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size
        for size, kernel, stride, dilation in zip(sizes, kernels, strides, dilations, strict=True)
    ]
    return 1 + any(pixels > 0 and pixels % 2 for pixels in needed)


def _where(given: Mapping[str, Any], revision: str, own: bool) -> int:
    shapes = {
        tuple(given[name].static_shape)
        for name in ("condition", "x", "y")
        if isinstance(given.get(name), Blob)
    }
    return own + 3 * (len(shapes) > 1)


def _conv2d(given: Mapping[str, Any], revision: str, own: bool) -> int:
    """`flow.layers.conv2d` leaves its convolution without a name; `flow.nn.conv2d` is one."""
    is_layer = not isinstance(given.get("filters"), Blob)
    return own * (1 + is_layer)


def _fixed(unnamed: int, named: int) -> _Count:
    return lambda given, revision, own: unnamed if own else named


_RULES: dict[str, _Count] = {
    "dense": _dense,
    "conv2d": _conv2d,
    "batch_normalization": _batch_normalization,
    "reduce_mean": _reduce_mean,
    "sparse_softmax_cross_entropy_with_logits": _sparse_softmax,
    "softmax": _softmax,
    "dropout": _dropout,
    "one_hot": _one_hot,
    "reshape": _always_before_june,
    "reshape_like": _always_before_june,
    "gather": _twice_in_june,
    "cast": _cast,
    "compat_conv2d": _compat_conv2d,
    "argwhere": _fixed(2, 1),
    "nonzero": _fixed(3, 1),
    "subtract": _from_number,
    "divide": _from_number,
    "where": _where,
    "reduce_euclidean_norm": _fixed(3, 3),
    "reduce_logsumexp": _fixed(3, 3),
    "squared_difference": _fixed(2, 0),
    "reduce_variance": _fixed(7, 7),
    "reduce_std": _fixed(8, 8),
    "shuffle": _fixed(3, 3),
    "watch": _fixed(1, 1),
}


# Operators whose result with a number on the left side is made from another operation's result.
_TURNED = (tf.subtract, quotient)


def _operator(x: Blob, y: Any, function: Any, swapped: bool = False) -> Blob:
    with context.numbers.operation() as outermost:
        result = operators.binary(x, y, function, swapped)
        if outermost:
            context.numbers.take(
                2 if swapped and not isinstance(y, Blob) and function in _TURNED else 1
            )
        return result


register("binary", _operator)
