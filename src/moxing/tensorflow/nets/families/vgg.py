"""The VGG networks A, 16 and 19 (Simonyan and Zisserman, arXiv:1409.1556), plain or normalized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import conv2d, dropout, max_pool, squeeze
from moxing.tensorflow.nets.style import Style, xavier_uniform

_DEPTHS = (64, 128, 256, 512, 512)


def vgg(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    layers: Sequence[int],
    normalize: bool = False,
    dropout_keep_prob: float = 0.5,
) -> tf.Tensor:
    """Returns the logits of five groups of 3x3 convolutions and three dense layers.

    Group i has `layers[i]` convolutions. The dense layers are convolutions, so that larger images
    work, too: their logits are the mean over the map. `normalize` adds batch norm with a gamma
    after each convolution of the groups.
    """
    style = replace(
        style, normalize=False, norm_scale=True, weights=xavier_uniform(), record_layers=True
    )
    with tf.variable_scope(scope) as var_scope:
        for group, (depth, count) in enumerate(zip(_DEPTHS, layers, strict=True), start=1):
            with tf.variable_scope(f"conv{group}"):
                for number in range(1, count + 1):
                    name = f"conv{group}_{number}"
                    net = conv2d(style, net, depth, 3, normalize=normalize, scope=name)
            net = max_pool(style, net, 2, stride=2, scope=f"pool{group}")
        net = conv2d(style, net, 4096, 7, padding="VALID", scope="fc6")
        net = dropout(style, net, dropout_keep_prob, scope="dropout6")
        net = conv2d(style, net, 4096, 1, scope="fc7")
        net = dropout(style, net, dropout_keep_prob, scope="dropout7")
        net = conv2d(style, net, num_classes, 1, linear=True, scope="fc8")
        logits = squeeze(style, net, name="fc8/squeezed")
        style.end_points[f"{var_scope.name}/fc8"] = logits
        return logits
