"""ResNets with batch norm before each convolution (He et al., arXiv:1603.05027)."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.heads import convolutional_head
from moxing.tensorflow.nets.families.resnet_v1 import WIDTHS, resnet_style, subsample
from moxing.tensorflow.nets.layers import conv2d, conv2d_same, max_pool
from moxing.tensorflow.nets.norm import batch_norm
from moxing.tensorflow.nets.style import Style


def resnet_v2(
    style: Style, net: tf.Tensor, num_classes: int, *, scope: str, units: Sequence[int]
) -> tf.Tensor:
    """A bottleneck ResNet of 3 * sum(units) + 2 layers; each block's last unit has the stride."""
    style = resnet_style(style)
    with tf.variable_scope(scope) as var_scope:
        # The first unit normalizes the output of these layers.
        net = conv2d_same(style, net, 64, 7, stride=2, linear=True, normalize=False, scope="conv1")
        net = max_pool(style, net, 3, stride=2, scope="pool1")
        for index, (width, count) in enumerate(zip(WIDTHS, units, strict=True), start=1):
            with tf.variable_scope(f"block{index}") as block_scope:
                for unit in range(1, count + 1):
                    stride = 2 if unit == count and index < len(units) else 1
                    with tf.variable_scope(f"unit_{unit}"):
                        net = _bottleneck(style, net, width, stride)
                style.end_points[block_scope.name] = net
        net = batch_norm(style, net, activation=tf.nn.relu, scope="postnorm")
        return convolutional_head(style, net, num_classes, var_scope.name)


def _bottleneck(style: Style, net: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    depth = 4 * width
    with tf.variable_scope("bottleneck_v2") as scope:
        preact = batch_norm(style, net, activation=tf.nn.relu, scope="preact")
        if style.channels(net) == depth:
            shortcut = subsample(style, net, stride)
        else:
            shortcut = conv2d(
                style,
                preact,
                depth,
                1,
                stride=stride,
                linear=True,
                normalize=False,
                scope="shortcut",
            )
        net = conv2d(style, preact, width, 1, scope="conv1")
        net = conv2d_same(style, net, width, 3, stride=stride, scope="conv2")
        net = conv2d(style, net, depth, 1, linear=True, normalize=False, scope="conv3")
        net = shortcut + net
        style.end_points[scope.name] = net
        return net
