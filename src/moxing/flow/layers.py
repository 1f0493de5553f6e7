"""`flow.layers`: operations with variables of their own."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow import absent, nn
from moxing.flow.operations import arrays
from moxing.flow.regularizers import Regularizer
from moxing.flow.trace import context, initializers, parallel, rules, spelling
from moxing.flow.trace.blobs import Blob, check, tensor_of
from moxing.flow.trace.parallel import by_sample
from moxing.flow.trace.variables import get_variable

_ZEROS, _ONES = initializers.zeros_initializer(), initializers.ones_initializer()


def _prefix(name: str | None, kind: str) -> str:
    """Returns the name of a layer, with which the names of its variables begin.

    A layer without a name is numbered among the layers of its kind in its job, so that jobs that
    make the same layers in the same order share their variables. Checkpoints have these under the
    names that the original gave them.

    Args:
        name: the program's name for the layer.
        kind: the kind of the layer as in checkpoints, such as Conv2D.
    """
    trace = context.enter_op(f"flow.layers: a {kind} layer")
    if name is not None:
        return name
    number = trace.unnamed.get(kind, 0)
    trace.unnamed[kind] = number + 1
    own = f"{kind}_{number}"
    given = f"{trace.prefix}{kind}_{context.numbers.next}"
    trace.variables.note_original(f"{trace.prefix}{own}", given, trace.conf.is_train)
    return own


def _check_activation(given: Any, layer: str) -> None:
    """Raises an error, before the layer has variables, if an activation is no function."""
    if given is not None and not callable(given):
        raise MoxTypeError(
            f"{layer}: activation={shown(given)}; give a function, such as"
            " flow.keras.activations.relu."
        )


def _check_width(given: Any, what: str) -> None:
    """Raises an error for a layer without outputs, whose products TensorFlow can crash on."""
    if isinstance(given, numbers.Real) and given < 1:
        raise MoxValueError(f"{what}={shown(given)}; give a whole number from 1.")


@spelling.placed(
    "inputs units activation use_bias kernel_initializer bias_initializer trainable name"
    " model_distribute",
    spelling.has(6, bool),
)
def dense(
    inputs: Blob,
    units: int,
    activation: Callable[..., Blob] | None = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = None,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    trainable: bool = True,
    name: str | None = None,
    model_distribute: Any = None,
) -> Blob:
    """`activation(x W^T + b)` with W of shape (units, in), `<name>-weight`, and `<name>-bias`."""
    check(inputs, "flow.layers.dense")
    _check_activation(activation, "flow.layers.dense")
    _check_width(units, "flow.layers.dense: units")
    own, shape = _prefix(name, "Dense"), inputs.static_shape
    flat = inputs if len(shape) == 2 else arrays.reshape(inputs, (-1, shape[-1]))
    weight = get_variable(
        f"{own}-weight",
        (units, shape[-1]),
        inputs.dtype,
        kernel_initializer or _ZEROS,
        trainable,
        "weight",
        distribute=model_distribute,
        regularizer=kernel_regularizer,
    )
    result = arrays.matmul(flat, weight, transpose_b=True, name=f"{own}_matmul")
    if use_bias:
        bias = get_variable(
            f"{own}-bias",
            (units,),
            inputs.dtype,
            bias_initializer or _ZEROS,
            trainable,
            "bias",
            distribute=model_distribute,
            regularizer=bias_regularizer,
        )
        result = nn.bias_add(result, bias)
    result = activation(result) if activation is not None else result
    return result if len(shape) == 2 else arrays.reshape(result, (*shape[:-1], units))


@spelling.placed(
    "inputs filters kernel_size strides padding data_format dilation_rate groups activation"
    " use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer trainable"
    " name weight_name bias_name",
    spelling.has(7, int),
)
def conv2d(
    inputs: Blob,
    filters: int,
    kernel_size: int | Sequence[int] = 1,
    strides: int | Sequence[int] = 1,
    padding: str = "VALID",
    data_format: str = "NCHW",
    dilation_rate: int | Sequence[int] = 1,
    activation: Callable[..., Blob] | None = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = None,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    trainable: bool = True,
    name: str | None = None,
    weight_name: str | None = None,
    bias_name: str | None = None,
    groups: int = 1,
) -> Blob:
    """A convolution with its variables `<name>-weight` and `<name>-bias`, unless they are named.

    With `groups`, each group of channels has filters of its own.
    """
    check(inputs, "flow.layers.conv2d")
    _check_activation(activation, "flow.layers.conv2d")
    _check_width(filters, "flow.layers.conv2d: filters")
    own, first = _prefix(name, "Conv2D"), data_format == "NCHW"
    kernel = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    channels = inputs.static_shape[1 if first else -1]
    nn.check_groups(f"flow.layers.conv2d {own}", groups, channels, filters)
    channels = channels // groups
    shape = (filters, channels, *kernel) if first else (filters, *kernel, channels)
    weight = get_variable(
        weight_name or f"{own}-weight",
        shape,
        inputs.dtype,
        kernel_initializer or _ZEROS,
        trainable,
        "weight",
        regularizer=kernel_regularizer,
    )
    result = nn.conv2d(inputs, weight, strides, padding, data_format, dilation_rate, own, groups)
    if use_bias:
        bias = get_variable(
            bias_name or f"{own}-bias",
            (filters,),
            inputs.dtype,
            bias_initializer or _ZEROS,
            trainable,
            "bias",
            regularizer=bias_regularizer,
        )
        result = nn.bias_add(result, bias, data_format)
    return activation(result) if activation is not None else result


_LATER_NORM = (
    "inputs axis momentum epsilon center scale beta_initializer gamma_initializer beta_regularizer"
    " gamma_regularizer moving_mean_initializer moving_variance_initializer trainable"
)


def _is_later(args: tuple[Any, ...]) -> bool:
    """Whether arguments by place have regularizers before the initializers of the averages."""
    return any(isinstance(item, Regularizer) for item in args[8:10]) or (
        len(args) > 10 and not isinstance(args[10], bool)
    )


@spelling.placed(f"{_LATER_NORM} name", lambda a: _is_later(a) and not spelling.has(13, bool)(a))
@spelling.placed(f"{_LATER_NORM} training name", lambda a: _is_later(a))
def batch_normalization(
    inputs: Blob,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 0.001,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = None,
    gamma_initializer: Any = None,
    moving_mean_initializer: Any = None,
    moving_variance_initializer: Any = None,
    trainable: bool = True,
    name: str | None = None,
    training: bool | None = None,
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
) -> Blob:
    """Normalizes along all axes but `axis` (Ioffe and Szegedy, 2015).

    A train job with `training=True` uses the batch's statistics and moves the averages:
    `moving = momentum * moving + (1 - momentum) * batch`, with the batch's biased variance. A
    predict job, and a job with `training=False`, uses the averages. `training` defaults to
    `trainable`. Each of several devices normalizes by its own part of the batch, and the averages
    move by the mean of the devices' statistics; pieces of `flow.unpack` move them one by one.
    """
    check(inputs, "flow.layers.batch_normalization")
    trace, own = context.required("batch_normalization"), _prefix(name, "BatchNorm")
    rank = len(inputs.static_shape)
    place = axis % rank
    size, others = inputs.static_shape[place], [i for i in range(rank) if i != place]

    def variable(
        suffix: str, initial: Any, default: Any, trained: bool, penalty: Any = None
    ) -> Any:
        kind, name = default if initial is None else initial, f"{own}-{suffix}"
        return get_variable(name, (size,), inputs.dtype, kind, trained, suffix, regularizer=penalty)

    gamma, beta = None, None
    if scale:
        gamma = variable("gamma", gamma_initializer, _ONES, trainable, gamma_regularizer)
    if center:
        beta = variable("beta", beta_initializer, _ZEROS, trainable, beta_regularizer)
    by_batch = trace.conf.is_train and (trainable if training is None else training)
    mean = variable("moving_mean", moving_mean_initializer, _ZEROS, False).tensor
    variance = variable("moving_variance", moving_variance_initializer, _ONES, False).tensor
    shape = [size if i == place else 1 for i in range(rank)]
    statistics: list[tuple[tf.Tensor, tf.Tensor]] = []

    def broad(item: Any) -> Any:
        return None if item is None else tf.reshape(getattr(item, "tensor", item), shape)

    def normalized(part: Blob) -> Blob:
        tensor, pair = part.tensor, (mean, variance)
        if by_batch:
            pair = tf.nn.moments(tensor, others)
            statistics.append(pair)
        return Blob(
            tf.nn.batch_normalization(tensor, *map(broad, pair), broad(beta), broad(gamma), epsilon)
        )

    parts = inputs.parts
    if place and inputs.unpacked:
        result = parallel.in_pieces(len(parts), lambda index: normalized(parts[index]))
    elif place and parts and parallel.fits(len(parts)):
        result = parallel.each(len(parts), lambda index: normalized(parts[index]), inputs)
        result.mirrored = inputs.mirrored
    else:
        result = normalized(inputs)
    of_devices: list[Sequence[tf.Tensor]] = [*zip(*statistics, strict=True)]
    names = ("moving_mean", "moving_variance")
    for suffix, old, new in zip(names, (mean, variance), of_devices, strict=False):
        # Pieces of a batch move the averages one after another.
        apart = result.unpacked or len(new) == 1
        batches = list(new) if apart else [tf.add_n(list(new)) / len(new)]
        for batch in batches:
            if result.apart and (exchange := trace.topology.exchange) is not None:
                batch = exchange.total(batch) / exchange.size
            old = momentum * old + (1 - momentum) * batch
        trace.updates.append((f"{trace.prefix}{own}-{suffix}", old))
    return result


@spelling.placed(
    "inputs center scale trainable begin_norm_axis begin_params_axis epsilon name",
    spelling.has(6, float),
)
@by_sample(rules.layer_norm)
def layer_norm(
    inputs: Blob,
    center: bool = True,
    scale: bool = True,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    name: str | None = None,
    epsilon: float = 1e-5,
) -> Blob:
    """Normalizes each sample over the axes from `begin_norm_axis` (Ba, Kiros, Hinton, 2016)."""
    tensor = tensor_of(inputs, "flow.layers.layer_norm")
    own, shape = _prefix(name, "LayerNorm"), inputs.static_shape
    begin, params = begin_norm_axis % len(shape), begin_params_axis % len(shape)
    if math.prod(shape[params:]) == 0:
        raise MoxValueError(f"flow.layers.layer_norm: {shown(shape)} has no elements.")
    mean, variance = tf.nn.moments(tensor, list(range(begin, len(shape))), keepdims=True)
    result = (tensor - mean) * tf.math.rsqrt(variance + tf.cast(epsilon, tensor.dtype))
    if scale:
        gamma = get_variable(
            f"{own}-gamma", shape[params:], inputs.dtype, _ONES, trainable, "gamma"
        )
        result = result * gamma.tensor
    if center:
        beta = get_variable(f"{own}-beta", shape[params:], inputs.dtype, _ZEROS, trainable, "beta")
        result = result + beta.tensor
    return Blob(result)


@by_sample(rules.always)
def prelu(
    inputs: Blob,
    alpha_initializer: Any = None,
    alpha_regularizer: Any = None,
    shared_axes: Sequence[int] | None = None,
    trainable: bool = True,
    name: str | None = None,
    model_distribute: Any = None,
) -> Blob:
    """x where it is positive, else alpha x, with the variable `<name>-alpha` (He et al., 2015).

    Args:
        inputs: a batch.
        alpha_initializer: default zeros.
        alpha_regularizer: a regularizer, such as `flow.regularizers.l2(1e-4)`.
        shared_axes: axes, from 1, along which alpha is one number.
        trainable: whether alpha is trained.
        name: the name of the layer.
        model_distribute: how alpha lies on several devices.

    Raises:
        MoxValueError: an axis is not one of a sample's axes.
    """
    tensor, own = tensor_of(inputs, "flow.layers.prelu"), _prefix(name, "PRelu")
    shape = list(inputs.static_shape[1:])
    for axis in shared_axes or ():
        if not 1 <= axis <= len(shape):
            raise MoxValueError(
                f"flow.layers.prelu {own}: shared_axes={shown(shared_axes)}; they are 1 to"
                f" {len(shape)}."
            )
        shape[axis - 1] = 1
    alpha = get_variable(
        f"{own}-alpha",
        shape,
        inputs.dtype,
        alpha_initializer or _ZEROS,
        trainable,
        distribute=model_distribute,
        regularizer=alpha_regularizer,
    ).tensor
    return Blob(tf.where_v2(tensor > 0, tensor, alpha * tensor))


__getattr__, __dir__ = absent.of("flow.layers", globals(), absent.LAYERS)
