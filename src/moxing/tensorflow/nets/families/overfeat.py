"""OverFeat, the fast model (Sermanet et al., arXiv:1312.6229, table 1)."""

from __future__ import annotations

from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import conv2d, dropout, max_pool, squeeze
from moxing.tensorflow.nets.style import Style, truncated_normal, xavier_uniform


def overfeat(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    dropout_keep_prob: float = 0.5,
) -> tf.Tensor:
    """Five convolutions and three dense layers, the latter as convolutions, for 231x231 pixels."""
    style = replace(style, normalize=False, weights=xavier_uniform(), record_layers=True)
    dense = truncated_normal(0.005)
    with tf.variable_scope(scope) as var_scope:
        net = conv2d(style, net, 64, 11, stride=4, padding="VALID", scope="conv1")
        net = max_pool(style, net, 2, stride=2, scope="pool1")
        net = conv2d(style, net, 256, 5, padding="VALID", scope="conv2")
        net = max_pool(style, net, 2, stride=2, scope="pool2")
        net = conv2d(style, net, 512, 3, scope="conv3")
        net = conv2d(style, net, 1024, 3, scope="conv4")
        net = conv2d(style, net, 1024, 3, scope="conv5")
        net = max_pool(style, net, 2, stride=2, scope="pool5")
        net = conv2d(style, net, 3072, 6, padding="VALID", weights=dense, bias=0.1, scope="fc6")
        net = dropout(style, net, dropout_keep_prob, scope="dropout6")
        net = conv2d(style, net, 4096, 1, weights=dense, bias=0.1, scope="fc7")
        net = dropout(style, net, dropout_keep_prob, scope="dropout7")
        net = conv2d(style, net, num_classes, 1, linear=True, weights=dense, scope="fc8")
        logits = squeeze(style, net, name="fc8/squeezed")
        style.end_points[f"{var_scope.name}/fc8"] = logits
        return logits
