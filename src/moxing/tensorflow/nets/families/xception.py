"""Aligned Xception 41, 65 and 71 (Chen et al., arXiv:1802.02611), as in deeplab."""

from __future__ import annotations

from dataclasses import dataclass, replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.heads import convolutional_head
from moxing.tensorflow.nets.layers import (
    conv2d,
    conv2d_same,
    depthwise_conv2d,
    pad,
)
from moxing.tensorflow.nets.style import Style, truncated_normal


@dataclass(frozen=True)
class Block:
    """A block of units of three separable convolutions.

    `skip` is "conv" (adds a 1x1 convolution of the input), "sum" (adds the input) or "none".
    `inner_relu` puts the ReLU after each convolution instead of before the pair.
    """

    scope: str
    depths: tuple[int, int, int]
    skip: str
    units: int = 1
    stride: int = 1
    inner_relu: bool = False


def _same(scope: str, depth: int, stride: int) -> Block:
    return Block(scope, (depth, depth, depth), "conv", stride=stride)


_ENTRY_41 = (
    _same("entry_flow/block1", 128, 2),
    _same("entry_flow/block2", 256, 2),
    _same("entry_flow/block3", 728, 2),
)
_ENTRY_71 = (
    _same("entry_flow/block1", 128, 2),
    _same("entry_flow/block2", 256, 1),
    _same("entry_flow/block3", 256, 2),
    _same("entry_flow/block4", 728, 1),
    _same("entry_flow/block5", 728, 2),
)
_EXIT = (
    Block("exit_flow/block1", (728, 1024, 1024), "conv", stride=2),
    Block("exit_flow/block2", (1536, 1536, 2048), "none", inner_relu=True),
)


def xception(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    long_entry: bool,
    middle_units: int,
    dropout_keep_prob: float = 0.5,
) -> tf.Tensor:
    """Returns the logits of the entry, middle and exit flow; strided convolutions replace pools."""
    style = replace(style, norm_scale=True, weights=truncated_normal(0.09), record_layers=True)
    middle = Block("middle_flow/block1", (728, 728, 728), "sum", units=middle_units)
    entry = _ENTRY_71 if long_entry else _ENTRY_41
    with tf.variable_scope(scope) as var_scope:
        net = conv2d_same(style, net, 32, 3, stride=2, scope="entry_flow/conv1_1")
        net = conv2d_same(style, net, 64, 3, stride=1, scope="entry_flow/conv1_2")
        for block in (*entry, middle, *_EXIT):
            with tf.variable_scope(block.scope) as block_scope:
                for unit in range(1, block.units + 1):
                    with tf.variable_scope(f"unit_{unit}"):
                        net = _module(style, net, block)
                style.end_points[block_scope.name] = net
        return convolutional_head(style, net, num_classes, var_scope.name, keep=dropout_keep_prob)


def _module(style: Style, net: tf.Tensor, block: Block) -> tf.Tensor:
    with tf.variable_scope("xception_module") as scope:
        residual = net
        for number, depth in enumerate(block.depths, start=1):
            stride = block.stride if number == 3 else 1
            name = f"separable_conv{number}"
            residual = _separable(style, residual, depth, stride, name, block.inner_relu)
        if block.skip == "conv":
            net = residual + conv2d(
                style,
                net,
                block.depths[-1],
                1,
                stride=block.stride,
                linear=True,
                scope="shortcut",
            )
        else:
            net = residual + net if block.skip == "sum" else residual
        style.end_points[scope.name] = net
        return net


def _separable(
    style: Style, net: tf.Tensor, depth: int, stride: int, scope: str, inner_relu: bool
) -> tf.Tensor:
    linear = not inner_relu
    if linear:
        net = tf.nn.relu(net)
    net = depthwise_conv2d(
        style,
        net if stride == 1 else pad(style, net, 3),
        3,
        stride=stride,
        padding="SAME" if stride == 1 else "VALID",
        linear=linear,
        scope=f"{scope}_depthwise",
    )
    return conv2d(style, net, depth, 1, linear=linear, scope=f"{scope}_pointwise")
