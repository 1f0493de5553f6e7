"""Inception-ResNet v2 (Szegedy et al., arXiv:1602.07261)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.inception.modules import (
    Avg,
    Branch,
    Conv,
    Max,
    auxiliary_features,
    chain,
    dense_logits,
    inception_style,
    mixed,
    stem,
)
from moxing.tensorflow.nets.layers import concat, conv2d, flatten, fully_connected
from moxing.tensorflow.nets.style import Style, xavier_uniform

_STEM = (
    Conv("Conv2d_1a_3x3", 32, 3, 2, "VALID"),
    Conv("Conv2d_2a_3x3", 32, 3, 1, "VALID"),
    Conv("Conv2d_2b_3x3", 64, 3),
    Max("MaxPool_3a_3x3", 2, "VALID"),
    Conv("Conv2d_3b_1x1", 80, 1),
    Conv("Conv2d_4a_3x3", 192, 3, 1, "VALID"),
    Max("MaxPool_5a_3x3", 2, "VALID"),
)
_MIXED_5B: Sequence[Branch] = (
    [Conv("Conv2d_1x1", 96, 1)],
    [Conv("Conv2d_0a_1x1", 48, 1), Conv("Conv2d_0b_5x5", 64, 5)],
    [Conv("Conv2d_0a_1x1", 64, 1), Conv("Conv2d_0b_3x3", 96, 3), Conv("Conv2d_0c_3x3", 96, 3)],
    [Avg(), Conv("Conv2d_0b_1x1", 64, 1)],
)
_MIXED_6A: Sequence[Branch] = (
    [Conv("Conv2d_1a_3x3", 384, 3, 2, "VALID")],
    [
        Conv("Conv2d_0a_1x1", 256, 1),
        Conv("Conv2d_0b_3x3", 256, 3),
        Conv("Conv2d_1a_3x3", 384, 3, 2, "VALID"),
    ],
    [Max("MaxPool_1a_3x3", 2, "VALID")],
)
_MIXED_7A: Sequence[Branch] = (
    [Conv("Conv2d_0a_1x1", 256, 1), Conv("Conv2d_1a_3x3", 384, 3, 2, "VALID")],
    [Conv("Conv2d_0a_1x1", 256, 1), Conv("Conv2d_1a_3x3", 288, 3, 2, "VALID")],
    [
        Conv("Conv2d_0a_1x1", 256, 1),
        Conv("Conv2d_0b_3x3", 288, 3),
        Conv("Conv2d_1a_3x3", 320, 3, 2, "VALID"),
    ],
    [Max("MaxPool_1a_3x3", 2, "VALID")],
)
_BLOCK_35: Sequence[Branch] = (
    [Conv("Conv2d_1x1", 32, 1)],
    [Conv("Conv2d_0a_1x1", 32, 1), Conv("Conv2d_0b_3x3", 32, 3)],
    [Conv("Conv2d_0a_1x1", 32, 1), Conv("Conv2d_0b_3x3", 48, 3), Conv("Conv2d_0c_3x3", 64, 3)],
)
_BLOCK_17: Sequence[Branch] = (
    [Conv("Conv2d_1x1", 192, 1)],
    [
        Conv("Conv2d_0a_1x1", 128, 1),
        Conv("Conv2d_0b_1x7", 160, (1, 7)),
        Conv("Conv2d_0c_7x1", 192, (7, 1)),
    ],
)
_BLOCK_8: Sequence[Branch] = (
    [Conv("Conv2d_1x1", 192, 1)],
    [
        Conv("Conv2d_0a_1x1", 192, 1),
        Conv("Conv2d_0b_1x3", 224, (1, 3)),
        Conv("Conv2d_0c_3x1", 256, (3, 1)),
    ],
)


def inception_resnet_v2(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    dropout_keep_prob: float = 0.8,
    create_aux_logits: bool = True,
) -> tf.Tensor:
    """Returns the logits; published for 299x299 pixels. `AuxLogits` is built only in training."""
    style = replace(inception_style(style), weights=xavier_uniform(), decay_bias=True)
    points = style.end_points
    with tf.variable_scope(scope):
        net = stem(style, net, _STEM)
        net = mixed(style, net, "Mixed_5b", _MIXED_5B)
        net = _repeat(style, net, 10, "Repeat", "block35", _BLOCK_35, scale=0.17)
        net = mixed(style, net, "Mixed_6a", _MIXED_6A)
        net = _repeat(style, net, 20, "Repeat_1", "block17", _BLOCK_17, scale=0.10)
        points["PreAuxLogits"] = net
        if style.training and create_aux_logits:
            points["AuxLogits"] = _auxiliary(style, net, num_classes)
        net = mixed(style, net, "Mixed_7a", _MIXED_7A)
        net = _repeat(style, net, 9, "Repeat_2", "block8", _BLOCK_8, scale=0.20)
        net = _residual(style, net, "Block8", _BLOCK_8, scale=1.0)
        net = points["Conv2d_7b_1x1"] = conv2d(style, net, 1536, 1, scope="Conv2d_7b_1x1")
        return dense_logits(
            style,
            net,
            num_classes,
            pool="AvgPool_1a_8x8",
            dropout_scope="Dropout",
            keep=dropout_keep_prob,
        )


def _repeat(
    style: Style,
    net: tf.Tensor,
    count: int,
    scope: str,
    name: str,
    branches: Sequence[Branch],
    *,
    scale: float,
) -> tf.Tensor:
    with tf.variable_scope(scope):
        for number in range(1, count + 1):
            net = tf.nn.relu(_residual(style, net, f"{name}_{number}", branches, scale=scale))
    return net


def _residual(
    style: Style, net: tf.Tensor, scope: str, branches: Sequence[Branch], *, scale: float
) -> tf.Tensor:
    """Returns `net` plus `scale` times the projected branches, without an activation."""
    outputs = []
    with tf.variable_scope(scope):
        for index, branch in enumerate(branches):
            with tf.variable_scope(f"Branch_{index}"):
                outputs.append(chain(style, net, branch))
        up = conv2d(
            style,
            concat(style, outputs),
            style.channels(net),
            1,
            linear=True,
            normalize=False,
            scope="Conv2d_1x1",
        )
        return net + (up if scale == 1.0 else scale * up)


def _auxiliary(style: Style, net: tf.Tensor, num_classes: int) -> tf.Tensor:
    with tf.variable_scope("AuxLogits"):
        features = auxiliary_features(style, net, pool_scope="Conv2d_1a_3x3", scope="Conv2d_2a_5x5")
        return fully_connected(
            style, flatten(style, features), num_classes, linear=True, scope="Logits"
        )
