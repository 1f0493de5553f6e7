"""Inception v2 (Ioffe and Szegedy, arXiv:1502.03167, figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.inception.modules import (
    Avg,
    Branch,
    Conv,
    Max,
    convolutional_logits,
    inception_style,
    mixed,
    stem,
)
from moxing.tensorflow.nets.layers import separable_conv2d
from moxing.tensorflow.nets.style import Style, truncated_normal

_STEM = (
    Max("MaxPool_2a_3x3", 2),
    Conv("Conv2d_2b_1x1", 64, 1, stddev=0.1),
    Conv("Conv2d_2c_3x3", 192, 3),
    Max("MaxPool_3a_3x3", 2),
)
# Depths of the branches: 1x1; 1x1 and 3x3; 1x1 and twice 3x3; 1x1 after the pool. Reductions
# lack the first and the last branch.
_MODULES: dict[str, tuple[int, ...]] = {
    "Mixed_3b": (64, 64, 64, 64, 96, 32),
    "Mixed_3c": (64, 64, 96, 64, 96, 64),
    "Mixed_4a": (128, 160, 64, 96),
    "Mixed_4b": (224, 64, 96, 96, 128, 128),
    "Mixed_4c": (192, 96, 128, 96, 128, 128),
    "Mixed_4d": (160, 128, 160, 128, 160, 96),
    "Mixed_4e": (96, 128, 192, 160, 192, 96),
    "Mixed_5a": (128, 192, 192, 256),
    "Mixed_5b": (352, 192, 320, 160, 224, 128),
    "Mixed_5c": (352, 192, 320, 192, 224, 128),
}


def inception_v2(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    dropout_keep_prob: float = 0.8,
) -> tf.Tensor:
    """Returns the logits of the batch-normalized Inception, published for 224x224 pixels."""
    style = inception_style(style)
    with tf.variable_scope(scope):
        # The number of depthwise kernels per channel is at most 8, and limited by the 64 outputs.
        # In slim, and so in every checkpoint, this layer alone has biases instead of batch norm.
        net = separable_conv2d(
            replace(style, normalize=False),
            net,
            64,
            7,
            stride=2,
            multiplier=min(64 // 3, 8),
            weights=truncated_normal(1.0),
            scope="Conv2d_1a_7x7",
        )
        style.end_points["Conv2d_1a_7x7"] = net
        net = stem(style, net, _STEM)
        for name, depths in _MODULES.items():
            net = mixed(style, net, name, _branches(name, depths))
        return convolutional_logits(
            style,
            net,
            num_classes,
            pool="AvgPool_1a_7x7",
            scope="Conv2d_1c_1x1",
            dropout_scope="Dropout_1b",
            keep=dropout_keep_prob,
        )


def _reduce(depth: int) -> Conv:
    return Conv("Conv2d_0a_1x1", depth, 1, stddev=0.09)


def _branches(name: str, depths: tuple[int, ...]) -> Sequence[Branch]:
    if len(depths) == 4:
        reduce_3, three, reduce_5, five = depths
        return (
            [_reduce(reduce_3), Conv("Conv2d_1a_3x3", three, 3, 2)],
            [
                _reduce(reduce_5),
                Conv("Conv2d_0b_3x3", five, 3),
                Conv("Conv2d_1a_3x3", five, 3, 2),
            ],
            [Max("MaxPool_1a_3x3", 2)],
        )
    one, reduce_3, three, reduce_5, five, pooled = depths
    pool = Max("MaxPool_0a_3x3") if name == "Mixed_5c" else Avg()
    return (
        [Conv("Conv2d_0a_1x1", one, 1)],
        [_reduce(reduce_3), Conv("Conv2d_0b_3x3", three, 3)],
        [_reduce(reduce_5), Conv("Conv2d_0b_3x3", five, 3), Conv("Conv2d_0c_3x3", five, 3)],
        [pool, Conv("Conv2d_0b_1x1", pooled, 1, stddev=0.1)],
    )
