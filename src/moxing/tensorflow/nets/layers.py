"""The layers of the model zoo, with slim's variable names, collections and defaults."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.nets.norm import batch_norm
from moxing.tensorflow.nets.pointwise import faster_gradient
from moxing.tensorflow.nets.style import Activation, Initializer, Style
from moxing.tensorflow.nets.variables import variable

Kernel = int | tuple[int, int]


def pair(value: Kernel) -> tuple[int, int]:
    """Returns (height, width); one number stands for both."""
    return (value, value) if isinstance(value, int) else value


def conv2d(
    style: Style,
    net: tf.Tensor,
    depth: int,
    kernel: Kernel,
    *,
    scope: str,
    stride: int = 1,
    padding: str = "SAME",
    linear: bool = False,
    normalize: bool | None = None,
    weights: Initializer | None = None,
    bias: float | None = None,
) -> tf.Tensor:
    """Applies a convolution with the kernel `<scope>/weights` of shape [h, w, in, depth].

    With `normalize`, `<scope>/BatchNorm` follows; otherwise `<scope>/biases` follow if the style
    has biases or `bias`, their initial value, is given. `linear` leaves out the activation.
    """
    height, width = pair(kernel)
    with tf.variable_scope(scope) as var_scope:
        kernels = variable(
            "weights",
            [height, width, style.channels(net), depth],
            net.dtype,
            weights or style.weights,
            decay=style.weight_decay,
        )
        pointwise = height == width == stride == 1 and style.data_format == "NHWC"
        with faster_gradient(pointwise and style.training):
            net = tf.nn.conv2d(
                net,
                kernels,
                style.per_axis((stride, stride)),
                padding,
                data_format=style.data_format,
            )
        net = _finish(style, net, linear=linear, normalize=normalize, bias=bias)
        return _record(style, var_scope.name, net)


def conv2d_same(
    style: Style,
    net: tf.Tensor,
    depth: int,
    kernel: int,
    *,
    stride: int,
    scope: str,
    linear: bool = False,
    normalize: bool | None = None,
) -> tf.Tensor:
    """Applies a convolution whose padding depends only on the kernel, not on the input size.

    At stride 1 this is "SAME". At larger strides, "SAME" pads even sizes on one side only, which
    shifts the image; this function pads both sides.
    """
    return conv2d(
        style,
        net if stride == 1 else pad(style, net, kernel),
        depth,
        kernel,
        stride=stride,
        padding="SAME" if stride == 1 else "VALID",
        scope=scope,
        linear=linear,
        normalize=normalize,
    )


def pad(style: Style, net: tf.Tensor, kernel: int) -> tf.Tensor:
    """Pads the image with zeros so that a "VALID" window of `kernel` pixels keeps its size."""
    # On a CPU, this is faster than explicit padding in the convolution.
    before = (kernel - 1) // 2
    paddings = [[0, 0], [0, 0], [0, 0], [0, 0]]
    for axis in style.spatial_axes:
        paddings[axis] = [before, kernel - 1 - before]
    return tf.pad(net, paddings)


def depthwise_conv2d(
    style: Style,
    net: tf.Tensor,
    kernel: int,
    *,
    scope: str,
    stride: int = 1,
    padding: str = "SAME",
    linear: bool = False,
) -> tf.Tensor:
    """Applies one kernel per channel, `<scope>/depthwise_weights` [k, k, in, 1], and batch norm."""
    with tf.variable_scope(scope) as var_scope:
        net = depthwise(style, net, kernel, multiplier=1, stride=stride, padding=padding)
        net = _finish(style, net, linear=linear, normalize=None, bias=None)
        return _record(style, var_scope.name, net)


def depthwise(
    style: Style,
    net: tf.Tensor,
    kernel: int,
    *,
    multiplier: int,
    stride: int,
    padding: str = "SAME",
    weights: Initializer | None = None,
) -> tf.Tensor:
    """Applies only the depthwise convolution, with `depthwise_weights` in the current scope."""
    kernels = variable(
        "depthwise_weights",
        [kernel, kernel, style.channels(net), multiplier],
        net.dtype,
        weights or style.weights,
        decay=style.weight_decay if style.decay_depthwise else 0.0,
    )
    return tf.nn.depthwise_conv2d(
        net,
        kernels,
        style.per_axis((stride, stride)),
        padding,
        data_format=style.data_format,
    )


def separable_conv2d(
    style: Style,
    net: tf.Tensor,
    depth: int,
    kernel: int,
    *,
    scope: str,
    stride: int = 1,
    multiplier: int = 1,
    linear: bool = False,
    weights: Initializer | None = None,
) -> tf.Tensor:
    """Applies a depthwise and a pointwise convolution, and then the rest of `conv2d`."""
    with tf.variable_scope(scope) as var_scope:
        net = depthwise(style, net, kernel, multiplier=multiplier, stride=stride, weights=weights)
        kernels = variable(
            "pointwise_weights",
            [1, 1, style.channels(net), depth],
            net.dtype,
            weights or style.weights,
            decay=style.weight_decay if style.decay_depthwise else 0.0,
        )
        net = tf.nn.conv2d(
            net, kernels, style.per_axis((1, 1)), "VALID", data_format=style.data_format
        )
        net = _finish(style, net, linear=linear, normalize=None, bias=None)
        return _record(style, var_scope.name, net)


def fully_connected(
    style: Style,
    net: tf.Tensor,
    depth: int,
    *,
    scope: str,
    linear: bool = False,
    weights: Initializer | None = None,
    bias: float | None = None,
    decay: bool = True,
) -> tf.Tensor:
    """Applies a dense layer with `<scope>/weights` and `<scope>/biases` to [batch, features]."""
    with tf.variable_scope(scope):
        kernels = variable(
            "weights",
            [int(net.shape[1]), depth],
            net.dtype,
            weights or style.weights,
            decay=style.weight_decay if decay else 0.0,
        )
        net = tf.matmul(net, kernels)
        initial = style.bias if bias is None else bias
        biases = _biases(style, depth, net.dtype, 0.0 if initial is None else initial)
        net = tf.nn.bias_add(net, biases)
        return net if linear or style.activation is None else style.activation(net)


def max_pool(
    style: Style,
    net: tf.Tensor,
    window: int,
    *,
    stride: int,
    scope: str,
    padding: str | None = None,
) -> tf.Tensor:
    """Applies max pooling; the end point's name is the variable scope it would have."""
    net = tf.nn.max_pool2d(
        net,
        style.per_axis((window, window)),
        style.per_axis((stride, stride)),
        padding or style.pool_padding,
        data_format=style.data_format,
        name=scope,
    )
    return _record(style, _join(tf.get_variable_scope().name, scope), net)


def avg_pool(
    style: Style, net: tf.Tensor, window: Kernel, *, stride: int, scope: str, padding: str = "SAME"
) -> tf.Tensor:
    """Applies average pooling, without counting the padding outside the image."""
    return tf.nn.avg_pool2d(
        net,
        style.per_axis(pair(window)),
        style.per_axis((stride, stride)),
        padding,
        data_format=style.data_format,
        name=scope,
    )


def global_pool(style: Style, net: tf.Tensor, *, name: str, keepdims: bool = True) -> tf.Tensor:
    """Returns the mean over height and width."""
    return tf.reduce_mean(net, style.spatial_axes, keepdims=keepdims, name=name)


def dropout(style: Style, net: tf.Tensor, keep: float, *, scope: str) -> tf.Tensor:
    """In training, keeps each element with probability `keep`, and divides it by `keep`."""
    if not style.training or keep >= 1.0:
        return net
    return tf.nn.dropout(net, rate=1.0 - keep, name=scope)


def concat(style: Style, nets: Sequence[tf.Tensor]) -> tf.Tensor:
    """Concatenates activations along the channels."""
    return tf.concat(list(nets), axis=style.channel_axis)


def flatten(style: Style, net: tf.Tensor) -> tf.Tensor:
    """Returns [batch, features], with the features in NHWC order for either layout."""
    if None in style.size(net):
        raise MoxValueError(
            f"the dense layer after {net.name!r} needs images of a known size, but their shape is "
            "not known before the run; give it with images.set_shape([None, height, width, 3])"
        )
    if style.data_format == "NCHW":
        net = tf.transpose(net, [0, 2, 3, 1])
    return tf.reshape(net, [-1, math.prod(net.shape.as_list()[1:])])


def squeeze(style: Style, net: tf.Tensor, *, name: str) -> tf.Tensor:
    """Returns [batch, channels] of a map: its only pixel, or the mean of a larger map."""
    if style.size(net) == (1, 1):
        return tf.squeeze(net, style.spatial_axes, name=name)
    return tf.reduce_mean(net, style.spatial_axes, name=name)


def _finish(
    style: Style, net: tf.Tensor, *, linear: bool, normalize: bool | None, bias: float | None
) -> tf.Tensor:
    """Applies batch norm or the bias, and then the activation."""
    activation: Activation | None = None if linear else style.activation
    if style.normalize if normalize is None else normalize:
        return batch_norm(style, net, activation=activation)
    initial = style.bias if bias is None else bias
    if initial is not None:
        biases = _biases(style, style.channels(net), net.dtype, initial)
        net = tf.nn.bias_add(net, biases, data_format=style.data_format)
    return net if activation is None else activation(net)


def _biases(style: Style, depth: int, dtype: tf.DType, initial: float) -> tf.Tensor:
    return variable(
        "biases",
        [depth],
        dtype,
        tf.constant_initializer(initial),
        decay=style.weight_decay if style.decay_bias else 0.0,
    )


def _record(style: Style, name: str, net: tf.Tensor) -> tf.Tensor:
    if style.record_layers:
        style.end_points[name] = net
    return net


def _join(outer: str, scope: str) -> str:
    return f"{outer}/{scope}" if outer else scope
