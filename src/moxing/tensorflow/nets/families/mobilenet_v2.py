"""MobileNet v2 (Sandler et al., arXiv:1801.04381), its thinner and its wider form."""

from __future__ import annotations

from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.inception.modules import convolutional_logits
from moxing.tensorflow.nets.layers import conv2d, depthwise_conv2d
from moxing.tensorflow.nets.style import Style, truncated_normal

# Stride and depth of the 17 blocks, table 2 of the paper.
_BLOCKS = (
    (1, 16),
    (2, 24),
    (1, 24),
    (2, 32),
    *[(1, 32)] * 2,
    (2, 64),
    *[(1, 64)] * 3,
    *[(1, 96)] * 3,
    (2, 160),
    *[(1, 160)] * 2,
    (1, 320),
)


def mobilenet_v2(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    multiplier: float,
    dropout_keep_prob: float = 0.8,
) -> tf.Tensor:
    """Returns the logits; depths are the paper's times `multiplier`, in multiples of 8.

    The last convolution has at least 1280 channels. Depthwise kernels don't decay.
    """
    style = replace(
        style,
        norm_scale=True,
        norm_decay=0.997,
        activation=tf.nn.relu6,
        weights=truncated_normal(0.09),
    )
    points = style.end_points
    with tf.variable_scope(scope):
        net = conv2d(style, net, divisible(32 * multiplier), 3, stride=2, scope="Conv")
        points["layer_1"] = net
        for number, (stride, depth) in enumerate(_BLOCKS):
            name = f"expanded_conv_{number}" if number else "expanded_conv"
            net = _expanded(
                style,
                net,
                divisible(depth * multiplier),
                expansion=6 if number else 1,
                stride=stride,
                scope=name,
                layer=f"layer_{number + 2}",
            )
        net = conv2d(style, net, divisible(1280 * max(multiplier, 1.0)), 1, scope="Conv_1")
        points["layer_19"] = net
        return convolutional_logits(
            style,
            net,
            num_classes,
            pool="global_pool",
            scope="Conv2d_1c_1x1",
            dropout_scope="Dropout",
            keep=dropout_keep_prob,
        )


def divisible(depth: float) -> int:
    """Returns the multiple of 8 nearest to `depth`, at least 8 and at least 0.9 * `depth`."""
    rounded = max(8, int(depth + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * depth else rounded


def _expanded(
    style: Style,
    net: tf.Tensor,
    depth: int,
    *,
    expansion: int,
    stride: int,
    scope: str,
    layer: str,
) -> tf.Tensor:
    """Applies an inverted residual: expansion, depthwise filter, projection, and a shortcut.

    The shortcut adds the input if the shapes are equal.
    """
    entry = net
    points = style.end_points
    with tf.variable_scope(scope):
        if expansion > 1:
            inner = divisible(style.channels(net) * expansion)
            net = conv2d(style, net, inner, 1, scope="expand")
            points[f"{layer}/expansion_output"] = net
        net = depthwise_conv2d(style, net, 3, stride=stride, scope="depthwise")
        points[f"{layer}/depthwise_output"] = net
        net = conv2d(style, net, depth, 1, linear=True, scope="project")
        if stride == 1 and style.channels(entry) == depth:
            net = net + entry
        points[layer] = points[f"{layer}/output"] = net
        return net
