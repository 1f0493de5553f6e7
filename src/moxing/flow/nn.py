"""`flow.nn`: convolution, pooling, dropout, softmax and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxValueError, shown
from moxing.flow import absent
from moxing.flow import math as flow_math
from moxing.flow.trace import context, parallel, rules, spelling
from moxing.flow.trace.blobs import TO_NCHW, TO_NHWC, Blob, tensor_of
from moxing.flow.trace.parallel import by_sample

_LEAST = 1e-20  # The least probability that a logarithm gets.

relu, sigmoid, tanh = flow_math.relu, flow_math.sigmoid, flow_math.tanh


def _pair(value: int | Sequence[int] | None, what: str, count: int = 2) -> list[int]:
    items = [value] * count if isinstance(value, int) else list(value or [1] * count)
    if len(items) != count:
        raise MoxValueError(f"{what} takes {count} numbers, not {shown(value)}.")
    return [int(item or 1) for item in items]


def _format(data_format: str, what: str, legal: tuple[str, ...] = ("NCHW", "NHWC")) -> bool:
    if data_format not in legal:
        raise MoxValueError(
            f"{what}: data_format={shown(data_format)}; it is {' or '.join(legal)}."
        )
    return data_format.startswith("NC")


def _padding(padding: str, what: str, any_case: bool = False) -> str:
    word = padding.upper() if any_case and isinstance(padding, str) else padding
    if word not in ("SAME", "VALID"):
        raise MoxValueError(f"{what}: padding={shown(padding)}; it is 'SAME' or 'VALID'.")
    return word


def _last(blob: Blob, tensor: tf.Tensor, first: bool) -> tf.Tensor:
    """The blob in NHWC."""
    if not first:
        return tensor
    return tf.transpose(tensor, TO_NHWC) if blob.channels_last is None else blob.channels_last


def _made(last: tf.Tensor, first: bool) -> Blob:
    return Blob(tf.transpose(last, TO_NCHW), channels_last=last) if first else Blob(last)


@spelling.placed(
    "input filters strides padding data_format dilations groups name", spelling.has(6, int)
)
@by_sample(rules.only("input"))
def conv2d(
    input: Blob,
    filters: Blob,
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
    groups: int = 1,
) -> Blob:
    """The cross-correlation of `input` and `filters`.

    Args:
        input: [n, c, h, w] or [n, h, w, c].
        filters: [out, c / groups, kh, kw] for NCHW, [out, kh, kw, c / groups] for NHWC.
        strides: one number or two.
        padding: "SAME" or "VALID".
        data_format: "NCHW" or "NHWC".
        dilations: one number or two.
        name: the name of the operation.
        groups: the number of groups of channels, each with filters of its own.

    Raises:
        MoxValueError: the channels of `input` and `filters` do not fit, or can't be grouped.
    """
    tensor, weight = tensor_of(input, "flow.nn.conv2d"), tensor_of(filters, "flow.nn.conv2d")
    own, first = context.op_name(name, "conv2d"), _format(data_format, "flow.nn.conv2d")
    channels = (input.static_shape[1 if first else -1], filters.static_shape[1 if first else -1])
    check_groups(f"flow.nn.conv2d {own}", groups, channels[0], filters.static_shape[0])
    if channels[0] != channels[1] * groups:
        grouped = f", in {groups} groups" if groups > 1 else ""
        raise MoxValueError(
            f"flow.nn.conv2d {own}: input {input.static_shape} has {channels[0]} channels, and"
            f" filters {filters.static_shape} are for {channels[1] * groups}{grouped}"
            f" ({data_format})."
        )
    last = _last(input, tensor, first)
    edge, holes = _padding(padding, "flow.nn.conv2d", any_case=True), _pair(dilations, "dilations")
    sides = filters.static_shape[2:] if first else filters.static_shape[1:-1]
    windows = [(side - 1) * hole + 1 for side, hole in zip(sides, holes, strict=True)]
    _check_windows(f"flow.nn.conv2d {own}", windows, edge, last.shape.as_list()[1:-1])
    kernel = tf.transpose(weight, [2, 3, 1, 0] if first else [1, 2, 3, 0])
    options: dict[str, Any] = {
        "strides": [1, *_pair(strides, "strides"), 1],
        "padding": edge,
        "dilations": [1, *holes, 1],
    }
    if groups == 1:
        return _made(tf.nn.conv2d(last, kernel, name=own, **options), first)
    steps = options["strides"]
    if channels[1] == 1 and steps[1] == steps[2] and max(holes) == 1:
        kernel = tf.reshape(kernel, [*kernel.shape[:2], groups, -1])
        made = tf.nn.depthwise_conv2d(last, kernel, steps, options["padding"], name=own)
        return _made(made, first)
    # TensorFlow has no gradients of grouped convolutions on a CPU.
    pairs = zip(tf.split(last, groups, -1), tf.split(kernel, groups, -1), strict=True)
    return _made(tf.concat([tf.nn.conv2d(x, w, **options) for x, w in pairs], -1, name=own), first)


def compat_conv2d(
    input: Blob,
    filters: Blob,
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | None = None,
    groups: int = 1,
    name: str | None = None,
) -> Blob:
    """`flow.nn.conv2d`, which pads as TensorFlow does; the arguments are in another order."""
    return conv2d(input, filters, strides, padding, data_format, dilations, name, groups)


def check_groups(where: str, groups: int, channels: int, filters: int) -> None:
    """Raises an error if channels or filters can't be divided evenly among groups."""
    if type(groups) is not int or groups < 1 or channels % groups or filters % groups:
        raise MoxValueError(
            f"{where}: groups={shown(groups)} must divide the {channels} channels of the input and"
            f" the {filters} filters."
        )


@by_sample(rules.only("value"))
def conv2d_transpose(
    value: Blob | None = None,
    filter: Blob | None = None,
    output_shape: Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str = "VALID",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Blob | None = None,
    filters: Blob | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Blob:
    """The gradient of a convolution, as an operation of its own.

    Args:
        value: [n, c, h, w] or [n, h, w, c].
        filter: [c, out, kh, kw] for NCHW, [c, kh, kw, out] for NHWC.
        output_shape: the shape of the whole result; only its height and width matter.
        strides: one number or two.
        padding: "SAME" or "VALID".
        data_format: "NCHW" or "NHWC".
        name: the name of the operation.
        input: another name of `value`.
        filters: another name of `filter`.
        dilations: 1 only.

    Raises:
        MoxValueError: an argument is missing, or dilations are not 1.
    """
    value, filter = input if value is None else value, filters if filter is None else filter
    if value is None or filter is None or output_shape is None or strides is None:
        raise MoxValueError(
            "flow.nn.conv2d_transpose needs value, filter, output_shape and strides."
        )
    if max(_pair(dilations, "dilations")) > 1:
        raise MoxValueError(f"flow.nn.conv2d_transpose: dilations={shown(dilations)}; they are 1.")
    what = "flow.nn.conv2d_transpose"
    tensor, kernel = tensor_of(value, what), tensor_of(filter, what)
    first, own = _format(data_format, what), context.op_name(name, "conv2d_transpose")
    last = _last(value, tensor, first)
    kernel = tf.transpose(kernel, [2, 3, 1, 0] if first else [1, 2, 3, 0])
    sizes = [int(size) for size in output_shape]
    height, width = sizes[2:] if first else sizes[1:3]
    # As in the original, the filter alone says how many channels come out.
    channels = kernel.shape[2]
    shape = tf.stack([tf.shape(last)[0], height, width, channels])
    steps = [1, *_pair(strides, "strides"), 1]
    edge = _padding(padding, what, any_case=True)
    made = tf.nn.conv2d_transpose(last, kernel, shape, steps, edge, name=own)
    made.set_shape([last.shape[0], height, width, channels])
    return _made(made, first)


@by_sample(rules.only("value"))
def bias_add(
    value: Blob, bias: Blob, data_format: str | None = None, name: str | None = None
) -> Blob:
    """Adds `bias` along axis 1, or along the last axis if `data_format` is "NHWC"."""
    tensor, vector = tensor_of(value, "flow.nn.bias_add"), tensor_of(bias, "flow.nn.bias_add")
    own = context.op_name(name, "bias_add")
    last = data_format is not None and not data_format.startswith("NC")
    if value.channels_last is not None and not last:
        return _made(tf.nn.bias_add(value.channels_last, vector, name=own), True)
    if last or tensor.shape.rank == 2:
        return Blob(tf.nn.bias_add(tensor, vector, name=own))
    shape = [1, -1, *[1] * (tensor.shape.rank - 2)]
    return Blob(tf.add(tensor, tf.reshape(vector, shape), name=own))


@by_sample(rules.always)
def _pool(
    kind: str,
    input: Blob,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str,
    name: str | None,
) -> Blob:
    what = f"flow.nn.{kind}_pool2d"
    tensor, own = tensor_of(input, what), context.op_name(name, f"{kind}_pool2d")
    first = _format(data_format, what)
    function = tf.nn.max_pool2d if kind == "max" else tf.nn.avg_pool2d
    size, step = _pair(ksize, "ksize"), _pair(strides, "strides")
    edge = _padding(padding, what)
    _check_windows(
        f"{what} {own}", size, edge, input.static_shape[2:] if first else input.static_shape[1:-1]
    )
    return _made(function(_last(input, tensor, first), size, step, edge, name=own), first)


def _check_windows(
    where: str, windows: Sequence[int], padding: str, sizes: Sequence[int | None]
) -> None:
    """Raises an error if windows are larger than the input, and there is no padding."""
    pairs = zip(windows, sizes, strict=True)
    if padding == "VALID" and any(size is not None and size < window for window, size in pairs):
        raise MoxValueError(
            f"{where}: windows of {tuple(windows)} are larger than the input, which is"
            f" {tuple(sizes)}. Give smaller ones, or padding='SAME'."
        )


def avg_pool2d(
    input: Blob,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Blob:
    """Means of windows; padding does not count."""
    return _pool("avg", input, ksize, strides, padding, data_format, name)


def max_pool2d(
    input: Blob,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Blob:
    """Maxima of windows."""
    return _pool("max", input, ksize, strides, padding, data_format, name)


@by_sample(rules.always)
def _pool3d(
    kind: str,
    input: Blob,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str,
    name: str | None,
) -> Blob:
    what = f"flow.nn.{kind}_pool3d"
    tensor, own = tensor_of(input, what), context.op_name(name, f"{kind}_pool3d")
    first = _format(data_format, what, ("NCDHW", "NDHWC"))
    function = tf.nn.max_pool3d if kind == "max" else tf.nn.avg_pool3d
    last = tf.transpose(tensor, [0, 2, 3, 4, 1]) if first else tensor
    size, step = _pair(ksize, "ksize", 3), _pair(strides, "strides", 3)
    edge = _padding(padding, what)
    _check_windows(f"{what} {own}", size, edge, last.shape.as_list()[1:-1])
    pooled = function(last, [1, *size, 1], [1, *step, 1], edge, name=own)
    return Blob(tf.transpose(pooled, [0, 4, 1, 2, 3]) if first else pooled)


def avg_pool3d(
    input: Blob,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Blob:
    """Means of three-dimensional windows."""
    return _pool3d("avg", input, ksize, strides, padding, data_format, name)


def max_pool3d(
    input: Blob,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Blob:
    """Maxima of three-dimensional windows."""
    return _pool3d("max", input, ksize, strides, padding, data_format, name)


def avg_pool1d(*args: Any, **kwargs: Any) -> Blob:
    """Not offered, as in the original."""
    raise MoxNotSupportedError("flow.nn.avg_pool1d is not offered; use avg_pool2d on (1, width).")


def max_pool1d(*args: Any, **kwargs: Any) -> Blob:
    """Not offered, as in the original."""
    raise MoxNotSupportedError("flow.nn.max_pool1d is not offered; use max_pool2d on (1, width).")


@by_sample(rules.dropout)
def dropout(
    x: Blob,
    noise_shape: Sequence[int] | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: float | None = None,
) -> Blob:
    """In train jobs each element is 0 with probability `rate`, else divided by `1 - rate`.

    In predict jobs, returns the values unchanged.

    Raises:
        MoxValueError: `rate` is missing or not in [0, 1).
    """
    tensor, own = tensor_of(x, "flow.nn.dropout"), context.op_name(name, "dropout")
    if rate is None or not 0 <= rate < 1:
        raise MoxValueError(f"flow.nn.dropout: rate={shown(rate)}; it must be in [0, 1).")
    if not context.required("flow.nn.dropout").conf.is_train or rate == 0:
        return Blob(tf.identity(tensor, name=own))
    if not parallel.draws_alike():
        return Blob(tf.nn.dropout(tensor, rate=rate, noise_shape=noise_shape, seed=seed, name=own))
    # Each machine computes the whole blob, with the elements that the first machine drops.
    kept = tf.nn.dropout(tf.ones_like(tensor), rate=rate, noise_shape=noise_shape, seed=seed)
    return Blob(tf.multiply(tensor, parallel.alike(Blob(kept, piece=True)).tensor, name=own))


def leaky_relu(x: Blob, alpha: float = 0.2, name: str | None = None) -> Blob:
    """x where it is positive, else `alpha` x."""
    return flow_math.elementwise(x, lambda t: tf.nn.leaky_relu(t, alpha), "leaky_relu", name)


def random_mask_like(
    like: Blob,
    rate: float,
    seed: int | None = None,
    noise_shape: Sequence[int] | None = None,
    name: str | None = None,
) -> Blob:
    """Random 1 and, with probability `rate`, 0 in the shape of `like`, int8.

    Raises:
        MoxValueError: `rate` is not in [0, 1), or `noise_shape` is given.
    """
    tensor, own = tensor_of(like, "flow.nn.random_mask_like"), context.op_name(name, "random_mask")
    if not 0 <= rate < 1 or noise_shape is not None:
        raise MoxValueError(
            f"flow.nn.random_mask_like: rate={shown(rate)} must be in [0, 1), and noise_shape"
            f" None, not {shown(noise_shape)}."
        )
    drawn = tf.random.uniform(tf.shape(tensor), seed=seed) >= rate
    return parallel.alike(Blob(tf.cast(drawn, tf.int8, name=own)))


@by_sample(rules.along("logits", "axis"))
def softmax(logits: Blob, axis: int | None = None, name: str | None = None) -> Blob:
    """Probabilities along `axis` (default the last)."""
    tensor = tensor_of(logits, "flow.nn.softmax")
    return Blob(
        tf.nn.softmax(tensor, -1 if axis is None else axis, name=context.op_name(name, "softmax"))
    )


@tf.custom_gradient
def _minus_log(p: tf.Tensor) -> Any:
    # In half precision the least probability would be 0, so it is computed in float32.
    wide = tf.cast(p, tf.float32) if p.dtype == tf.float16 else p
    clamped = tf.maximum(wide, tf.cast(_LEAST, wide.dtype))

    def slope(gradient: tf.Tensor) -> tf.Tensor:
        steep = -tf.cast(gradient, wide.dtype) / clamped
        # The value must stay finite: where p is 0, an earlier operation multiplies it by 0, which
        # must not give NaN.
        steep = tf.clip_by_value(steep, p.dtype.min, p.dtype.max) if wide is not p else steep
        return tf.cast(steep, p.dtype)

    return tf.cast(-tf.log(clamped), p.dtype), slope


@by_sample(rules.leading("labels", "prediction"))
def sparse_cross_entropy(labels: Blob, prediction: Blob, name: str | None = None) -> Blob:
    """-log of the probability at the label; a probability below 1e-20 counts as 1e-20."""
    tensor = tensor_of(prediction, "flow.nn.sparse_cross_entropy")
    own = context.op_name(name, "sparse_cross_entropy")
    return Blob(_cross_entropy(labels, tensor, own))


@by_sample(rules.leading("labels", "logits"))
def sparse_softmax_cross_entropy_with_logits(
    labels: Blob | None = None, logits: Blob | None = None, name: str | None = None
) -> Blob:
    """The loss of each sample: -log(max(softmax(logits)[label], 1e-20)).

    The operation is not fused: a prediction that is wrong and saturated has the loss 46.0517 and no
        gradient.

    Args:
        labels: whole numbers from 0 to the number of classes - 1, of shape `logits.shape[:-1]`.
        logits: their last axis is the axis of classes.
        name: the name of the operation.
    """
    if labels is None or logits is None:
        raise MoxValueError(
            "flow.nn.sparse_softmax_cross_entropy_with_logits needs labels and logits."
        )
    tensor = tensor_of(logits, "flow.nn.sparse_softmax_cross_entropy_with_logits")
    own = context.op_name(name, "sparse_softmax_cross_entropy")
    wide = tf.cast(tensor, tf.float32) if tensor.dtype == tf.float16 else tensor
    losses = _cross_entropy(labels, tf.nn.softmax(wide), own)
    return Blob(losses if wide is tensor else tf.cast(losses, tensor.dtype))


@by_sample(rules.aligned("labels", "logits"))
def softmax_cross_entropy_with_logits(
    labels: Blob | None = None, logits: Blob | None = None, name: str | None = None
) -> Blob:
    """The loss of each sample: -sum(labels log(softmax(logits))), along the last axis.

    Args:
        labels: probabilities, of the shape and type of `logits`.
        logits: their last axis is the axis of classes.
        name: the name of the operation.
    """
    if labels is None or logits is None:
        raise MoxValueError("flow.nn.softmax_cross_entropy_with_logits needs labels and logits.")
    x = tensor_of(logits, "flow.nn.softmax_cross_entropy_with_logits")
    p = tensor_of(labels, "flow.nn.softmax_cross_entropy_with_logits")
    own = context.op_name(name, "softmax_cross_entropy")
    if labels.static_shape != logits.static_shape or p.dtype != x.dtype:
        raise MoxValueError(
            f"{own}: labels {labels.static_shape} {p.dtype.name} must have the shape and type of"
            f" logits {logits.static_shape} {x.dtype.name}."
        )
    return Blob(tf.nn.softmax_cross_entropy_with_logits_v2(labels=p, logits=x, name=own))


def _cross_entropy(labels: Blob, p: tf.Tensor, name: str) -> tf.Tensor:
    places = tensor_of(labels, "a cross entropy")
    if not places.dtype.is_integer:
        raise MoxValueError(f"{name}: labels must be whole numbers, and are {places.dtype.name}.")
    shape, classes = p.shape.as_list()[:-1], p.shape.as_list()[-1]
    mine = places.shape.as_list()
    if mine[: len(shape)] != shape or any(size != 1 for size in mine[len(shape) :]):
        raise MoxValueError(f"{name}: labels {tuple(mine)} do not fit logits {tuple(p.shape)}.")
    places = tf.reshape(places, tf.shape(p)[:-1])
    message = f"{name}: a label is not in [0, {classes})."
    with tf.control_dependencies(
        [tf.debugging.Assert(tf.reduce_all((places >= 0) & (places < classes)), [message, places])]
    ):
        places = tf.identity(places)
    return tf.identity(_minus_log(tf.gather(p, places, batch_dims=len(shape))), name=name)


@by_sample(rules.aligned("labels", "logits"))
def sigmoid_cross_entropy_with_logits(
    labels: Blob | None = None, logits: Blob | None = None, name: str | None = None
) -> Blob:
    """max(x, 0) - x z + log(1 + exp(-|x|)) for logits x and labels z."""
    if labels is None or logits is None:
        raise MoxValueError("flow.nn.sigmoid_cross_entropy_with_logits needs labels and logits.")
    x = tensor_of(logits, "flow.nn.sigmoid_cross_entropy_with_logits")
    z = tf.cast(tensor_of(labels, "flow.nn.sigmoid_cross_entropy_with_logits"), x.dtype)
    own = context.op_name(name, "sigmoid_cross_entropy")
    return Blob(tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x, name=own))


@by_sample(rules.only("x"))
def batch_normalization(
    x: Blob,
    mean: Blob,
    variance: Blob,
    offset: Blob,
    scale: Blob,
    variance_epsilon: float,
    axis: int = -1,
    name: str | None = None,
) -> Blob:
    """(x - mean) / sqrt(variance + epsilon) scale + offset, with vectors along `axis`."""
    tensor, own = tensor_of(x, "flow.nn.batch_normalization"), context.op_name(name, "batch_norm")
    shape = [1] * tensor.shape.rank
    shape[axis] = -1
    vectors = [
        tf.reshape(tensor_of(item, "flow.nn.batch_normalization"), shape)
        for item in (mean, variance, offset, scale)
    ]
    return Blob(tf.nn.batch_normalization(tensor, *vectors, variance_epsilon, name=own))


__getattr__, __dir__ = absent.of("flow.nn", globals(), absent.NN)
