"""ResNeXt 32x4d (Xie et al., arXiv:1611.05431)."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.heads import convolutional_head
from moxing.tensorflow.nets.families.resnet_v1 import resnet_style
from moxing.tensorflow.nets.layers import concat, conv2d, conv2d_same, max_pool, pad
from moxing.tensorflow.nets.norm import batch_norm
from moxing.tensorflow.nets.runtime import gpu_present
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
) -> tf.Tensor:
    """A ResNeXt of 3 * sum(units) + 2 layers; each block's first unit has the stride.

    The paper shows the unit in equivalent forms: figure 3(b) concatenates 32 paths, and figure 3(c)
    has one grouped convolution. Either name is built as (c), which is faster, or as (b) if
    TensorFlow can't run (c); the variables are the same. Names follow slim's ResNets; slim has no
    ResNeXt.
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
                        net = _bottleneck(style, net, width, stride)
                style.end_points[block_scope.name] = net
        return convolutional_head(style, net, num_classes, var_scope.name)


def _bottleneck(style: Style, net: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    with tf.variable_scope("bottleneck_v1") as scope:
        shortcut = net
        if style.channels(net) != 2 * width:
            shortcut = conv2d(
                style, net, 2 * width, 1, stride=stride, linear=True, scope="shortcut"
            )
        net = conv2d(style, net, width, 1, scope="conv1")
        net = _grouped_conv2d(style, net, width, stride)
        net = conv2d(style, net, 2 * width, 1, linear=True, scope="conv3")
        net = tf.nn.relu(shortcut + net)
        style.end_points[scope.name] = net
        return net


def _grouped_conv2d(style: Style, net: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    with tf.variable_scope("conv2") as scope:
        kernels = variable(
            "weights",
            [3, 3, width // CARDINALITY, width],
            net.dtype,
            style.weights,
            decay=style.weight_decay,
        )
        net = pad(style, net, 3)
        if style.training and not gpu_present():
            # On a CPU, grouped convolutions have a gradient only in float32 and with oneDNN.
            parts = tf.split(net, CARDINALITY, axis=style.channel_axis)
            paths = zip(parts, tf.split(kernels, CARDINALITY, axis=3), strict=True)
            net = concat(style, [_convolve(style, *path, stride) for path in paths])
        else:
            net = _convolve(style, net, kernels, stride)
        # Fused with its neighbors, a grouped convolution needs oneDNN, which only CPUs with VNNI
        # use by default; an exported model may be served on any CPU.
        net = batch_norm(style, net, activation=tf.nn.relu, fused=False)
        style.end_points[scope.name] = net
        return net


def _convolve(style: Style, net: tf.Tensor, kernels: tf.Tensor, stride: int) -> tf.Tensor:
    strides = style.per_axis((stride, stride))
    return tf.nn.conv2d(net, kernels, strides, "VALID", data_format=style.data_format)
