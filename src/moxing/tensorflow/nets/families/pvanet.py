"""PVANET's feature network (Kim et al., arXiv:1608.08021, table 1) with a classifier on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.heads import convolutional_head
from moxing.tensorflow.nets.layers import concat, conv2d, max_pool
from moxing.tensorflow.nets.norm import batch_norm
from moxing.tensorflow.nets.style import Style, xavier_uniform
from moxing.tensorflow.nets.variables import variable

# Depths of the residual units: C.ReLU units 1x1-3x3-1x1, Inception units as
# (1x1), (1x1, 3x3), (1x1, 3x3, 3x3), pool projection or 0, output.
_CRELU = {"conv2": (3, (24, 24, 64)), "conv3": (4, (48, 48, 128))}
_INCEPTION: dict[str, tuple[tuple[tuple[int, ...], ...], ...]] = {
    "conv4": (
        ((64,), (48, 128), (24, 48, 48), (128,), (256,)),
        *(((64,), (64, 128), (24, 48, 48), (), (256,)),) * 3,
    ),
    "conv5": (
        ((64,), (96, 192), (32, 64, 64), (128,), (384,)),
        *(((64,), (96, 192), (32, 64, 64), (), (384,)),) * 3,
    ),
}


def pvanet(style: Style, net: tf.Tensor, num_classes: int, *, scope: str) -> tf.Tensor:
    """Returns the logits of stages up to conv5_4, a global mean and a 1x1 convolution `logits`.

    The paper publishes the stages, but not the classifier of their pretraining; this one is that of
    the ResNets. Names follow the authors' Caffe layers.
    """
    style = replace(
        style,
        normalize=False,
        activation=None,
        norm_decay=0.997,
        norm_epsilon=1e-5,
        weights=xavier_uniform(),
        bias=0.1,
        pool_padding="SAME",
    )
    points = style.end_points
    with tf.variable_scope(scope) as var_scope:
        with tf.variable_scope("conv1_1"):
            net = _bare_conv(style, net, 16, 7, stride=2)
            net = points["conv1_1"] = _negated_relu(style, net)
        net = points["pool1"] = max_pool(style, net, 3, stride=2, scope="pool1")
        for stage, (count, depths) in _CRELU.items():
            for number in range(1, count + 1):
                stride = 2 if stage == "conv3" and number == 1 else 1
                name = f"{stage}_{number}"
                # The first unit gets activations from pool1, and the other units get sums.
                net = points[name] = _crelu(
                    style, net, depths, stride, name, stage == "conv2" and number == 1
                )
            points[stage] = net
        for stage, units in _INCEPTION.items():
            for number, depths in enumerate(units, start=1):
                name = f"{stage}_{number}"
                net = points[name] = _inception(style, net, depths, name)
            points[stage] = net
        with tf.variable_scope("conv5_4"):
            net = points["conv5"] = _norm_relu(style, net, "last_bn")
        head = replace(style, bias=0.0)
        return convolutional_head(head, net, num_classes, var_scope.name)


def _crelu(
    style: Style,
    net: tf.Tensor,
    depths: Sequence[int],
    stride: int,
    scope: str,
    activated: bool,
) -> tf.Tensor:
    entry = net
    with tf.variable_scope(scope):
        with tf.variable_scope("1"):
            if not activated:
                net = _norm_relu(style, net)
            net = conv2d(style, net, depths[0], 1, stride=stride, scope="conv")
        with tf.variable_scope("2"):
            net = conv2d(style, _norm_relu(style, net), depths[1], 3, scope="conv")
        with tf.variable_scope("3"):
            net = conv2d(style, _negated_relu(style, net), depths[2], 1, scope="conv")
        return net + _projection(style, entry, depths[2], stride)


def _inception(
    style: Style, net: tf.Tensor, depths: Sequence[tuple[int, ...]], scope: str
) -> tf.Tensor:
    one, three, five, pooled, (output,) = depths
    stride = 2 if pooled else 1
    entry = net
    with tf.variable_scope(scope):
        with tf.variable_scope("incep"):
            net = _norm_relu(style, net)
            paths = [_path(style, net, ["0"], one, stride)]
            paths.append(_path(style, net, ["1_reduce", "1_0"], three, stride))
            paths.append(_path(style, net, ["2_reduce", "2_0", "2_1"], five, stride))
            if pooled:
                # The pool reads the unit's input before normalization.
                small = max_pool(style, entry, 3, stride=2, scope="pool")
                paths.append(_path(style, small, ["poolproj"], pooled, 1))
        with tf.variable_scope("out"):
            net = conv2d(style, concat(style, paths), output, 1, scope="conv")
        return net + _projection(style, entry, output, stride)


def _path(
    style: Style, net: tf.Tensor, scopes: list[str], depths: Sequence[int], stride: int
) -> tf.Tensor:
    for number, (scope, depth) in enumerate(zip(scopes, depths, strict=True)):
        with tf.variable_scope(scope):
            net = _bare_conv(style, net, depth, 3 if number else 1, stride=1 if number else stride)
            net = _norm_relu(style, net)
    return net


def _projection(style: Style, net: tf.Tensor, depth: int, stride: int) -> tf.Tensor:
    if style.channels(net) == depth and stride == 1:
        return net
    return conv2d(style, net, depth, 1, stride=stride, scope="proj")


def _bare_conv(style: Style, net: tf.Tensor, depth: int, kernel: int, *, stride: int) -> tf.Tensor:
    """Applies a convolution without a bias, which the batch norm after it would remove."""
    return conv2d(replace(style, bias=None), net, depth, kernel, stride=stride, scope="conv")


def _norm_relu(style: Style, net: tf.Tensor, scope: str = "bn") -> tf.Tensor:
    net = batch_norm(style, net, scope=scope, center=False, scale=False)
    return tf.nn.relu(_scaled(style, net, f"{scope}_scale"))


def _negated_relu(style: Style, net: tf.Tensor) -> tf.Tensor:
    """Applies C.ReLU: both signs of each channel, each with its own scale and shift."""
    net = batch_norm(style, net, scope="bn", center=False, scale=False)
    return tf.nn.relu(_scaled(style, concat(style, [net, -net]), "scale"))


def _scaled(style: Style, net: tf.Tensor, scope: str) -> tf.Tensor:
    depth = [style.channels(net)]
    shape = style.per_axis((1, 1))
    shape[style.channel_axis] = depth[0]
    with tf.variable_scope(scope):
        beta = variable("beta", depth, net.dtype, tf.zeros_initializer())
        gamma = variable("gamma", depth, net.dtype, tf.ones_initializer())
        return net * tf.reshape(gamma, shape) + tf.reshape(beta, shape)
