"""AlexNet v2, the one-tower form (Krizhevsky, arXiv:1404.5997)."""

from __future__ import annotations

from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import conv2d, dropout, max_pool, squeeze
from moxing.tensorflow.nets.style import Style, truncated_normal, xavier_uniform


def alexnet_v2(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    dropout_keep_prob: float = 0.5,
) -> tf.Tensor:
    """Five convolutions and three dense layers, the latter as convolutions; no local norm."""
    style = replace(style, normalize=False, weights=xavier_uniform(), bias=0.1, record_layers=True)
    dense = truncated_normal(0.005)
    with tf.variable_scope(scope) as var_scope:
        net = conv2d(style, net, 64, 11, stride=4, padding="VALID", scope="conv1")
        net = max_pool(style, net, 3, stride=2, scope="pool1")
        net = conv2d(style, net, 192, 5, scope="conv2")
        net = max_pool(style, net, 3, stride=2, scope="pool2")
        net = conv2d(style, net, 384, 3, scope="conv3")
        net = conv2d(style, net, 384, 3, scope="conv4")
        net = conv2d(style, net, 256, 3, scope="conv5")
        net = max_pool(style, net, 3, stride=2, scope="pool5")
        net = conv2d(style, net, 4096, 5, padding="VALID", weights=dense, scope="fc6")
        net = dropout(style, net, dropout_keep_prob, scope="dropout6")
        net = conv2d(style, net, 4096, 1, weights=dense, scope="fc7")
        net = dropout(style, net, dropout_keep_prob, scope="dropout7")
        net = conv2d(style, net, num_classes, 1, linear=True, weights=dense, bias=0.0, scope="fc8")
        logits = squeeze(style, net, name="fc8/squeezed")
        style.end_points[f"{var_scope.name}/fc8"] = logits
        return logits
