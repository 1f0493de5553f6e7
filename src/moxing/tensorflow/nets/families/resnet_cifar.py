"""The ResNets for 32x32 images (He et al., arXiv:1512.03385, section 4.2)."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.heads import convolutional_head
from moxing.tensorflow.nets.families.resnet_v1 import resnet_style, subsample
from moxing.tensorflow.nets.layers import conv2d, conv2d_same
from moxing.tensorflow.nets.style import Style


def resnet_cifar(
    style: Style, net: tf.Tensor, num_classes: int, *, scope: str, units: int
) -> tf.Tensor:
    """Returns the logits of 6 * units + 2 layers: three blocks of 16, 32 and 64 channels.

    Shortcuts are identities. If a block halves the image and doubles the channels, the shortcut is
    the paper's option A: every second pixel, with zeros for the new channels. Names follow slim's
    ResNets.
    """
    style = resnet_style(style)
    with tf.variable_scope(scope) as var_scope:
        net = conv2d(style, net, 16, 3, scope="conv1")
        for index, depth in enumerate((16, 32, 64), start=1):
            with tf.variable_scope(f"block{index}") as block_scope:
                for unit in range(1, units + 1):
                    stride = 2 if unit == 1 and index > 1 else 1
                    with tf.variable_scope(f"unit_{unit}"):
                        net = _unit(style, net, depth, stride)
                style.end_points[block_scope.name] = net
        return convolutional_head(style, net, num_classes, var_scope.name)


def _unit(style: Style, net: tf.Tensor, depth: int, stride: int) -> tf.Tensor:
    with tf.variable_scope("lite_bottleneck_v1") as scope:
        shortcut = _widened(style, subsample(style, net, stride), depth)
        net = conv2d_same(style, net, depth, 3, stride=stride, scope="conv1")
        net = conv2d_same(style, net, depth, 3, stride=1, scope="conv2", linear=True)
        net = tf.nn.relu(shortcut + net)
        style.end_points[scope.name] = net
        return net


def _widened(style: Style, net: tf.Tensor, depth: int) -> tf.Tensor:
    missing = depth - style.channels(net)
    if not missing:
        return net
    paddings = [[0, 0], [0, 0], [0, 0], [0, 0]]
    paddings[style.channel_axis] = [missing // 2, missing - missing // 2]
    return tf.pad(net, paddings)
