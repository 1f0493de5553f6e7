"""MobileNet v1 (Howard et al., arXiv:1704.04861) and its thinner forms."""

from __future__ import annotations

from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.inception.modules import convolutional_logits
from moxing.tensorflow.nets.layers import conv2d, depthwise_conv2d
from moxing.tensorflow.nets.style import Style, truncated_normal

# Stride and depth of the 13 depthwise separable layers.
_LAYERS = (
    (1, 64),
    (2, 128),
    (1, 128),
    (2, 256),
    (1, 256),
    (2, 512),
    *[(1, 512)] * 5,
    (2, 1024),
    (1, 1024),
)


def mobilenet_v1(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    multiplier: float,
    dropout_keep_prob: float = 0.999,
) -> tf.Tensor:
    """Returns the logits; depths are the paper's times `multiplier`, at least 8.

    Depthwise kernels don't decay.
    """
    style = replace(style, norm_scale=True, activation=tf.nn.relu6, weights=truncated_normal(0.09))
    points = style.end_points

    def thinned(depth: int) -> int:
        return max(int(depth * multiplier), 8)

    with tf.variable_scope(scope):
        net = points["Conv2d_0"] = conv2d(style, net, thinned(32), 3, stride=2, scope="Conv2d_0")
        for number, (stride, depth) in enumerate(_LAYERS, start=1):
            name = f"Conv2d_{number}_depthwise"
            net = points[name] = depthwise_conv2d(style, net, 3, stride=stride, scope=name)
            name = f"Conv2d_{number}_pointwise"
            net = points[name] = conv2d(style, net, thinned(depth), 1, scope=name)
        return convolutional_logits(
            replace(style, norm_scale=False),
            net,
            num_classes,
            pool="AvgPool_1a",
            scope="Conv2d_1c_1x1",
            dropout_scope="Dropout_1b",
            keep=dropout_keep_prob,
        )
