"""ResNets with batch norm after each convolution (He et al., arXiv:1512.03385)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.heads import convolutional_head
from moxing.tensorflow.nets.layers import conv2d, conv2d_same, max_pool
from moxing.tensorflow.nets.style import Style

WIDTHS = (64, 128, 256, 512)


def resnet_v1(
    style: Style, net: tf.Tensor, num_classes: int, *, scope: str, units: Sequence[int]
) -> tf.Tensor:
    """A bottleneck ResNet of 3 * sum(units) + 2 layers; each block's last unit has the stride."""
    style = resnet_style(style)
    with tf.variable_scope(scope) as var_scope:
        net = _stem(style, net)
        for index, (width, count) in enumerate(zip(WIDTHS, units, strict=True), start=1):
            with tf.variable_scope(f"block{index}") as block_scope:
                for unit in range(1, count + 1):
                    stride = 2 if unit == count and index < len(units) else 1
                    with tf.variable_scope(f"unit_{unit}"):
                        net = _bottleneck(style, net, width, stride)
                style.end_points[block_scope.name] = net
        return convolutional_head(style, net, num_classes, var_scope.name)


def resnet_v1_basic(
    style: Style, net: tf.Tensor, num_classes: int, *, scope: str, units: Sequence[int]
) -> tf.Tensor:
    """A ResNet of two-layer units, 2 * sum(units) + 2 layers, with deeplab's ResNet-18 names."""
    style = resnet_style(style)
    with tf.variable_scope(scope) as var_scope:
        net = _stem(style, net)
        for index, (width, count) in enumerate(zip(WIDTHS, units, strict=True), start=1):
            with tf.variable_scope(f"block{index}") as block_scope:
                for unit in range(1, count + 1):
                    stride = 2 if unit == count and index < len(units) else 1
                    with tf.variable_scope(f"unit_{unit}"):
                        net = _basic(style, net, width, stride)
                style.end_points[block_scope.name] = net
        return convolutional_head(style, net, num_classes, var_scope.name)


def resnet_style(style: Style) -> Style:
    """Returns a style with the batch norm and pooling of slim's ResNets."""
    return replace(
        style,
        norm_decay=0.997,
        norm_epsilon=1e-5,
        norm_scale=True,
        pool_padding="SAME",
        record_layers=True,
    )


def subsample(style: Style, net: tf.Tensor, stride: int) -> tf.Tensor:
    """Returns every `stride`-th pixel."""
    if stride == 1:
        return net
    # The gradient of this is faster than that of a strided slice.
    strides = style.per_axis((stride, stride))
    return tf.nn.max_pool2d(net, 1, strides, "VALID", data_format=style.data_format)


def _stem(style: Style, net: tf.Tensor) -> tf.Tensor:
    net = conv2d_same(style, net, 64, 7, stride=2, scope="conv1")
    return max_pool(style, net, 3, stride=2, scope="pool1")


def _shortcut(style: Style, net: tf.Tensor, depth: int, stride: int) -> tf.Tensor:
    if style.channels(net) == depth:
        return subsample(style, net, stride)
    return conv2d(style, net, depth, 1, stride=stride, linear=True, scope="shortcut")


def _bottleneck(style: Style, net: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    with tf.variable_scope("bottleneck_v1") as scope:
        shortcut = _shortcut(style, net, 4 * width, stride)
        net = conv2d(style, net, width, 1, scope="conv1")
        net = conv2d_same(style, net, width, 3, stride=stride, scope="conv2")
        net = conv2d(style, net, 4 * width, 1, linear=True, scope="conv3")
        net = tf.nn.relu(shortcut + net)
        style.end_points[scope.name] = net
        return net


def _basic(style: Style, net: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    with tf.variable_scope("lite_bottleneck_v1") as scope:
        shortcut = _shortcut(style, net, width, stride)
        net = conv2d_same(style, net, width, 3, stride=1, scope="conv1")
        net = conv2d_same(style, net, width, 3, stride=stride, scope="conv2", linear=True)
        net = tf.nn.relu(shortcut + net)
        style.end_points[scope.name] = net
        return net
