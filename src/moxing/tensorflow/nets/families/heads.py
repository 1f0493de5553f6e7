"""The classifier at the end of ResNets, ResNeXts and Xceptions."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import conv2d, dropout, global_pool, squeeze
from moxing.tensorflow.nets.style import Style


def convolutional_head(
    style: Style, net: tf.Tensor, num_classes: int, scope: str, *, keep: float = 1.0
) -> tf.Tensor:
    """Applies a global mean, dropout and a 1x1 convolution; returns logits [batch, num_classes].

    End points: `global_pool`, `<scope>/logits` and `predictions`, the softmax of the logits.
    """
    net = global_pool(style, net, name="pool5")
    style.end_points["global_pool"] = net
    net = dropout(style, net, keep, scope="prelogits_dropout")
    net = conv2d(style, net, num_classes, 1, scope="logits", linear=True, normalize=False)
    logits = squeeze(style, net, name="SpatialSqueeze")
    style.end_points[f"{scope}/logits"] = logits
    style.end_points["predictions"] = tf.nn.softmax(logits, name="predictions")
    return logits
