"""Inception v1 (Szegedy et al., arXiv:1409.4842), in slim's form with batch norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.inception.modules import (
    Branch,
    Conv,
    Max,
    convolutional_logits,
    inception_style,
    mixed,
    stem,
)
from moxing.tensorflow.nets.layers import max_pool
from moxing.tensorflow.nets.style import Style, truncated_normal

_STEM = (
    Conv("Conv2d_1a_7x7", 64, 7, 2),
    Max("MaxPool_2a_3x3", 2),
    Conv("Conv2d_2b_1x1", 64, 1),
    Conv("Conv2d_2c_3x3", 192, 3),
    Max("MaxPool_3a_3x3", 2),
)
# Depths of the branches: 1x1; 1x1 and 3x3; 1x1 and 3x3 (5x5 in the paper); 1x1 after the pool.
_MODULES_3 = {
    "Mixed_3b": (64, 96, 128, 16, 32, 32),
    "Mixed_3c": (128, 128, 192, 32, 96, 64),
}
_MODULES_4 = {
    "Mixed_4b": (192, 96, 208, 16, 48, 64),
    "Mixed_4c": (160, 112, 224, 24, 64, 64),
    "Mixed_4d": (128, 128, 256, 24, 64, 64),
    "Mixed_4e": (112, 144, 288, 32, 64, 64),
    "Mixed_4f": (256, 160, 320, 32, 128, 128),
}
_MODULES_5 = {
    "Mixed_5b": (256, 160, 320, 32, 128, 128),
    "Mixed_5c": (384, 192, 384, 48, 128, 128),
}


def inception_v1(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    dropout_keep_prob: float = 0.8,
) -> tf.Tensor:
    """Returns the logits of 22 layers, published for 224x224 pixels, without auxiliary heads."""
    # Slim's initial weights apply to the trunk only.
    style = inception_style(style)
    trunk = replace(style, weights=truncated_normal(0.01))
    with tf.variable_scope(scope):
        net = stem(trunk, net, _STEM)
        net = _modules(trunk, net, _MODULES_3)
        net = stem(trunk, net, [Max("MaxPool_4a_3x3", 2)])
        net = _modules(trunk, net, _MODULES_4)
        net = max_pool(trunk, net, 2, stride=2, padding="SAME", scope="MaxPool_5a_2x2")
        style.end_points["MaxPool_5a_2x2"] = net
        net = _modules(trunk, net, _MODULES_5)
        return convolutional_logits(
            style,
            net,
            num_classes,
            pool="MaxPool_0a_7x7",
            scope="Conv2d_0c_1x1",
            dropout_scope="Dropout_0b",
            keep=dropout_keep_prob,
        )


def _modules(style: Style, net: tf.Tensor, modules: dict[str, tuple[int, ...]]) -> tf.Tensor:
    for scope, depths in modules.items():
        net = mixed(style, net, scope, _branches(scope, depths))
    return net


def _branches(scope: str, depths: tuple[int, ...]) -> Sequence[Branch]:
    one, reduce_3, three, reduce_5, five, pooled = depths
    # In slim, and so in every checkpoint, this layer's name has the letter of the previous layer.
    letter = "a" if scope == "Mixed_5b" else "b"
    return (
        [Conv("Conv2d_0a_1x1", one, 1)],
        [Conv("Conv2d_0a_1x1", reduce_3, 1), Conv("Conv2d_0b_3x3", three, 3)],
        [Conv("Conv2d_0a_1x1", reduce_5, 1), Conv(f"Conv2d_0{letter}_3x3", five, 3)],
        [Max("MaxPool_0a_3x3"), Conv("Conv2d_0b_1x1", pooled, 1)],
    )
