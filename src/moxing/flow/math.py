"""`flow.math`: elementwise functions, binary operations and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow import absent
from moxing.flow.trace import context, rules, spelling
from moxing.flow.trace.blobs import TO_NCHW, Blob, number, quotient, tensor_of
from moxing.flow.trace.parallel import by_sample

from moxing.flow.operations.arrays import clip_by_value, broadcast_to_compatible_with  # noqa: F401  # isort: skip
from moxing.flow.operations.indexing import (  # noqa: F401  # isort: skip
    unsorted_batch_segment_sum,
    unsorted_segment_sum,
    unsorted_segment_sum_like,
)


@by_sample(rules.always)
def elementwise(x: Blob, function: Callable[[Any], Any], what: str, name: str | None) -> Blob:
    """Applies `function` to each element, in NHWC if the blob has that layout too."""
    tensor, own = tensor_of(x, f"flow.{what}"), context.op_name(name, what)
    if x.channels_last is None:
        with tf.name_scope(own):
            return Blob(function(tensor), x.batch_axis)
    with tf.name_scope(own):
        last = function(x.channels_last)
        return Blob(tf.transpose(last, TO_NCHW), x.batch_axis, channels_last=last)


def _unary(what: str, function: Callable[[Any], Any], text: str) -> Callable[..., Blob]:
    def apply(x: Blob, name: str | None = None) -> Blob:
        return elementwise(x, function, what, name)

    apply.__name__, apply.__doc__ = what, text
    return apply


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + tf.math.erf(x / tf.cast(2.0**0.5, x.dtype)))


relu = _unary("relu", tf.nn.relu, "max(x, 0).")
tanh = _unary("tanh", tf.tanh, "The hyperbolic tangent.")
sigmoid = _unary("sigmoid", tf.sigmoid, "1 / (1 + exp(-x)).")
gelu = _unary("gelu", _gelu, "x times the normal distribution at x (Hendrycks, Gimpel 2016).")
sqrt = _unary("sqrt", tf.sqrt, "The square root.")
rsqrt = _unary("rsqrt", tf.math.rsqrt, "1 / sqrt(x).")
square = _unary("square", tf.square, "x times x.")
exp = _unary("exp", tf.exp, "The exponential.")
log = _unary("log", tf.log, "The natural logarithm.")
abs = _unary("abs", tf.abs, "The absolute value.")
negative = _unary("negative", tf.negative, "-x.")
sign = _unary("sign", tf.sign, "-1, 0 or 1.")
ceil = _unary("ceil", tf.ceil, "The least whole number that is not less.")
floor = _unary("floor", tf.floor, "The greatest whole number that is not more.")
reciprocal = _unary("reciprocal", tf.reciprocal, "1 / x.")
softplus = _unary("softplus", tf.nn.softplus, "log(1 + exp(x)).")
sin = _unary("sin", tf.sin, "The sine.")
cos = _unary("cos", tf.cos, "The cosine.")
tan = _unary("tan", tf.tan, "The tangent.")
asin = _unary("asin", tf.asin, "The inverse of the sine.")
acos = _unary("acos", tf.acos, "The inverse of the cosine.")
atan = _unary("atan", tf.atan, "The inverse of the tangent.")
sinh = _unary("sinh", tf.sinh, "The hyperbolic sine.")
cosh = _unary("cosh", tf.cosh, "The hyperbolic cosine.")
erf = _unary("erf", tf.math.erf, "The error function.")
expm1 = _unary("expm1", tf.math.expm1, "exp(x) - 1.")
log1p = _unary("log1p", tf.math.log1p, "log(1 + x).")
acosh = _unary("acosh", tf.acosh, "The inverse of the hyperbolic cosine.")
asinh = _unary("asinh", tf.asinh, "The inverse of the hyperbolic sine.")
atanh = _unary("atanh", tf.atanh, "The inverse of the hyperbolic tangent.")
erfc = _unary("erfc", tf.math.erfc, "1 - erf(x).")
lgamma = _unary("lgamma", tf.math.lgamma, "The logarithm of the absolute gamma function.")
log_sigmoid = _unary("log_sigmoid", tf.math.log_sigmoid, "log(sigmoid(x)).")
rint = _unary("rint", tf.math.rint, "The nearest whole number; of two the even one.")
reciprocal_no_nan = _unary("reciprocal_no_nan", tf.math.reciprocal_no_nan, "1 / x; 0 where x is.")
sigmoid_v2, tanh_v2 = sigmoid, tanh
round = _unary("round", tf.round, "The nearest whole number; of two the even one.")


def _called(what: str) -> Callable[[Any], Any]:
    """Names a function as programs call it, for the errors of the decorators around it."""

    def decorate(function: Any) -> Any:
        function.__name__ = what
        return function

    return decorate


def _binary(what: str, function: Callable[[Any, Any], Any], text: str) -> Callable[..., Blob]:
    @by_sample(rules.aligned("x", "y"))
    @_called(what)
    def apply(x: Any, y: Any, name: str | None = None) -> Blob:
        own = context.op_name(name, what)
        given = [item for item in (x, y) if isinstance(item, Blob)]
        if not given:
            raise MoxTypeError(f"flow.math.{what} takes at least one blob.")
        operation = f"flow.math.{what}"
        left, right = (
            tensor_of(item, operation)
            if isinstance(item, Blob)
            else number(item, given[0], operation)
            for item in (x, y)
        )
        result = function(left, right)
        # The comparisons of this API are int8.
        result = tf.cast(result, tf.int8) if result.dtype == tf.bool else result
        return Blob(tf.identity(result, name=own), given[0].batch_axis)

    apply.__name__, apply.__doc__ = what, text
    return apply


add = _binary("add", tf.add, "x + y, broadcast as numpy does.")
subtract = _binary("subtract", tf.subtract, "x - y.")
multiply = _binary("multiply", tf.multiply, "x * y.")
divide = _binary("divide", quotient, "x / y; of whole numbers a whole number, toward 0.")
floor_mod = _binary("floor_mod", tf.floormod, "The remainder, with the sign of y.")
mod = floor_mod
pow = _binary("pow", tf.pow, "x to the power of y.")
squared_difference = _binary("squared_difference", tf.squared_difference, "(x - y)^2.")
maximum = _binary("maximum", tf.maximum, "The larger.")
minimum = _binary("minimum", tf.minimum, "The smaller.")
equal = _binary("equal", tf.equal, "Whether x = y, int8.")
not_equal = _binary("not_equal", tf.not_equal, "Whether x and y differ, int8.")
less = _binary("less", tf.less, "Whether x < y, int8.")
less_equal = _binary("less_equal", tf.less_equal, "Whether x <= y, int8.")
greater = _binary("greater", tf.greater, "Whether x > y, int8.")
greater_equal = _binary("greater_equal", tf.greater_equal, "Whether x >= y, int8.")


def _both(x: Any, y: Any) -> Any:
    return tf.not_equal(x, 0) & tf.not_equal(y, 0)


logical_and = _binary("logical_and", _both, "Whether neither x nor y is 0, int8.")
naive_logical_and = spelling.also(lhs="x", rhs="y")(logical_and)


@by_sample(rules.listed("inputs"))
def add_n(inputs: Sequence[Blob], name: str | None = None) -> Blob:
    """The sum of several blobs of one shape."""
    tensors = [tensor_of(item, "flow.math.add_n") for item in inputs]
    return Blob(tf.add_n(tensors, name=context.op_name(name, "add_n")))


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(x: Any, axis: Any, keepdims: bool, name: str) -> Any:
        return tf.cast(function(tf.not_equal(x, 0), axis, keepdims=keepdims), tf.int8, name=name)

    return apply


def _reduce(what: str, function: Callable[..., Any], text: str) -> Callable[..., Blob]:
    @spelling.also(x="input_tensor", input_blob="input_tensor")
    @by_sample(rules.given("input_tensor", "axis"))
    @_called(what)
    def apply(
        input_tensor: Blob, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Blob:
        tensor = tensor_of(input_tensor, f"flow.math.{what}")
        axes = list(axis) if isinstance(axis, list | tuple) else axis
        result = function(tensor, axes, keepdims=keepdims, name=context.op_name(name, what))
        batch = input_tensor.batch_axis if keepdims else _kept(input_tensor, axes)
        # This API has no blobs of rank 0.
        return Blob(result if result.shape.rank else tf.reshape(result, [1]), batch)

    apply.__name__, apply.__doc__ = what, text
    return apply


def _kept(blob: Blob, axes: Any) -> int | None:
    """The axis of samples of a blob whose `axes` are reduced; None if it is among them."""
    if axes is None or blob.batch_axis is None:
        return None
    rank = len(blob.static_shape)
    gone = {int(axis) % rank for axis in (axes if isinstance(axes, list) else [axes])}
    if blob.batch_axis in gone:
        return None
    return blob.batch_axis - sum(axis < blob.batch_axis for axis in gone)


reduce_sum = _reduce("reduce_sum", tf.reduce_sum, "The sum over `axis`; over all: shape (1,).")
reduce_mean = _reduce("reduce_mean", tf.reduce_mean, "The mean over `axis`; over all: (1,).")
reduce_prod = _reduce("reduce_prod", tf.reduce_prod, "The product over `axis`; over all: (1,).")
reduce_max = _reduce("reduce_max", tf.reduce_max, "The maximum over `axis`; over all: (1,).")
reduce_min = _reduce("reduce_min", tf.reduce_min, "The minimum over `axis`; over all: (1,).")


reduce_std = _reduce("reduce_std", tf.math.reduce_std, "The standard deviation, of all elements.")
reduce_variance = _reduce("reduce_variance", tf.math.reduce_variance, "The mean squared deviation.")
reduce_euclidean_norm = _reduce(
    "reduce_euclidean_norm", tf.math.reduce_euclidean_norm, "sqrt(sum(x^2))."
)
reduce_logsumexp = _reduce("reduce_logsumexp", tf.reduce_logsumexp, "log(sum(exp(x))).")
reduce_all = _reduce("reduce_all", _truth(tf.reduce_all), "Whether no element is 0, int8.")
reduce_any = _reduce("reduce_any", _truth(tf.reduce_any), "Whether an element is not 0, int8.")


def reduced_shape_elem_cnt(
    input_blob: Blob, axis: Any = None, dtype: Any = None, name: str | None = None
) -> Blob:
    """The product of the sizes of some axes, of shape (1,): how many elements a reduction joins.

    Args:
        axis: the axes, as a list; default: all.
        dtype: default int32.

    Raises:
        MoxValueError: the blob has no such axis.
    """
    what = "flow.math.reduced_shape_elem_cnt"
    tensor, own = tensor_of(input_blob, what), context.op_name(name, "reduced_shape_elem_cnt")
    rank = len(tensor.shape)
    axes = list(range(rank)) if axis is None else list(axis if np.ndim(axis) else [axis])
    if any(not -rank <= one < rank for one in axes):
        raise MoxValueError(f"{what}: axis={shown(axis)} for a blob of {rank} axes.")
    chosen = tf.constant(sorted({int(one) % rank for one in axes}), tf.int32)
    sizes = tf.gather(tf.shape(tensor), chosen)
    count = tf.cast(tf.reduce_prod(sizes), tf.as_dtype(dtype or tf.int32))
    return Blob(tf.reshape(count, [1], name=own), None)


@by_sample(rules.along("input", "axis"))
def l2_normalize(
    input: Blob, axis: int | None = None, epsilon: float = 1e-12, name: str | None = None
) -> Blob:
    """x / sqrt(max(sum(x^2), epsilon)), with the sum along `axis` (default the last)."""
    tensor = tensor_of(input, "flow.math.l2_normalize")
    own, place = context.op_name(name, "l2_normalize"), -1 if axis is None else axis
    squares = tf.reduce_sum(tf.square(tensor), place, keepdims=True)
    least = tf.cast(epsilon, tensor.dtype)
    return Blob(tf.multiply(tensor, tf.math.rsqrt(tf.maximum(squares, least)), name=own))


@by_sample(rules.top_k)
def top_k(input: Blob, k: int = 1, sorted: bool = True, name: str | None = None) -> Blob:
    """The indices, int32, of the k largest elements of the last axis; of all if it is shorter."""
    tensor = tensor_of(input, "flow.math.top_k")
    size = tensor.shape[-1]
    k = tf.minimum(k, tf.shape(tensor)[-1]) if size is None else min(k, size)
    return Blob(tf.nn.top_k(tensor, k, sorted, name=context.op_name(name, "top_k")).indices)


@spelling.placed("input name", spelling.has(1, str))
@by_sample(rules.along("input", "axis"))
def argmax(
    input: Blob, axis: int | None = None, output_type: Any = None, name: str | None = None
) -> Blob:
    """The index, int32 unless `output_type` says int64, of the largest along `axis` (the last).

    For a blob of one axis, the result has the shape (1,).
    """
    tensor = tensor_of(input, "flow.math.argmax")
    own, place = context.op_name(name, "argmax"), -1 if axis is None else axis
    result = tf.argmax(tensor, place, output_type=output_type or tf.int32, name=own)
    return Blob(result if result.shape.rank else tf.reshape(result, [1]))


__getattr__, __dir__ = absent.of("flow.math", globals())
