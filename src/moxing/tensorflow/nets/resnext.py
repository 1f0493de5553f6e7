"""ResNeXt 32x4d (Xie et al., arXiv:1611.05431) in two of the paper's three equal forms."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.heads import convolutional_head
from moxing.tensorflow.nets.layers import conv2d, conv2d_same, explicit_padding, max_pool
from moxing.tensorflow.nets.norm import batch_norm
from moxing.tensorflow.nets.resnet_v1 import resnet_style
from moxing.tensorflow.nets.style import Style
from moxing.tensorflow.nets.variables import variable

CARDINALITY = 32
_WIDTHS = (128, 256, 512, 1024)


def resnext(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    units: Sequence[int],
    split: bool,
) -> tf.Tensor:
    """3 * sum(units) + 2 layers; figure 3(b) of the paper if `split`, else figure 3(c).

    (b) runs 32 separate paths and concatenates them, (c) runs one grouped convolution. They
    compute the same, so their variables are the same too: `conv2/weights` [3, 3, width / 32,
    width]. The paper's strides sit in each block's first unit. Names follow slim's ResNets;
    there is no ResNeXt of slim's.
    """
    style = resnet_style(style)
    with tf.variable_scope(scope) as var_scope:
        net = conv2d_same(style, net, 64, 7, stride=2, scope="conv1")
        net = max_pool(style, net, 3, stride=2, scope="pool1")
        for index, (width, count) in enumerate(zip(_WIDTHS, units, strict=True), start=1):
            with tf.variable_scope(f"block{index}") as block_scope:
                for unit in range(1, count + 1):
                    stride = 2 if unit == 1 and index > 1 else 1
                    with tf.variable_scope(f"unit_{unit}"):
                        net = _bottleneck(style, net, width, stride, split)
                style.end_points[block_scope.name] = net
        return convolutional_head(style, net, num_classes, var_scope.name)


def _bottleneck(style: Style, net: tf.Tensor, width: int, stride: int, split: bool) -> tf.Tensor:
    with tf.variable_scope("bottleneck_v1") as scope:
        shortcut = net
        if style.channels(net) != 2 * width:
            shortcut = conv2d(
                style, net, 2 * width, 1, stride=stride, linear=True, scope="shortcut"
            )
        net = conv2d(style, net, width, 1, scope="conv1")
        net = _grouped_conv2d(style, net, width, stride, split)
        net = conv2d(style, net, 2 * width, 1, linear=True, scope="conv3")
        net = tf.nn.relu(shortcut + net)
        style.end_points[scope.name] = net
        return net


def _grouped_conv2d(
    style: Style, net: tf.Tensor, width: int, stride: int, split: bool
) -> tf.Tensor:
    with tf.variable_scope("conv2") as scope:
        kernels = variable(
            "weights",
            [3, 3, width // CARDINALITY, width],
            net.dtype,
            style.weights,
            decay=style.weight_decay,
        )

        def convolve(part: tf.Tensor, part_kernels: tf.Tensor) -> tf.Tensor:
            return tf.nn.conv2d(
                part,
                part_kernels,
                style.per_axis((stride, stride)),
                explicit_padding(style, 3),
                data_format=style.data_format,
            )

        if split:
            parts = tf.split(net, CARDINALITY, axis=style.channel_axis)
            part_kernels = tf.split(kernels, CARDINALITY, axis=3)
            outputs = [convolve(*pair) for pair in zip(parts, part_kernels, strict=True)]
            net = tf.concat(outputs, axis=style.channel_axis)
        else:
            net = convolve(net, kernels)
        net = batch_norm(style, net, activation=tf.nn.relu)
        style.end_points[scope.name] = net
        return net
