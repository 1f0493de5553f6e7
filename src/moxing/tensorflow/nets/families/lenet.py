"""LeNet for MNIST and CifarNet for CIFAR-10, the small networks of the tutorials."""

from __future__ import annotations

from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import conv2d, dropout, flatten, fully_connected, max_pool
from moxing.tensorflow.nets.style import Style, truncated_normal


def lenet(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    dropout_keep_prob: float = 0.5,
) -> tf.Tensor:
    """Two 5x5 convolutions and two dense layers (after LeCun et al., Proc. IEEE 1998)."""
    style = replace(style, normalize=False, weights=truncated_normal(0.1))
    points = style.end_points
    with tf.variable_scope(scope):
        net = points["conv1"] = conv2d(style, net, 32, 5, scope="conv1")
        net = points["pool1"] = max_pool(style, net, 2, stride=2, scope="pool1")
        net = points["conv2"] = conv2d(style, net, 64, 5, scope="conv2")
        net = points["pool2"] = max_pool(style, net, 2, stride=2, scope="pool2")
        net = points["Flatten"] = flatten(style, net)
        net = points["fc3"] = fully_connected(style, net, 1024, scope="fc3")
        net = points["dropout3"] = dropout(style, net, dropout_keep_prob, scope="dropout3")
        logits = fully_connected(style, net, num_classes, linear=True, scope="fc4")
        points["Logits"] = logits
        points["Predictions"] = tf.nn.softmax(logits, name="Predictions")
        return logits


def cifarnet(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    dropout_keep_prob: float = 0.5,
) -> tf.Tensor:
    """Two 5x5 convolutions with local response norm and three dense layers; fc3 and fc4 decay."""
    style = replace(style, normalize=False, weights=truncated_normal(0.05))
    convolutions = replace(style, weight_decay=0.0)
    points = style.end_points
    dense = truncated_normal(0.04)
    with tf.variable_scope(scope):
        net = points["conv1"] = conv2d(convolutions, net, 64, 5, scope="conv1")
        net = points["pool1"] = max_pool(style, net, 2, stride=2, scope="pool1")
        net = _local_norm(style, net, "norm1")
        net = points["conv2"] = conv2d(convolutions, net, 64, 5, scope="conv2")
        net = _local_norm(style, net, "norm2")
        net = points["pool2"] = max_pool(style, net, 2, stride=2, scope="pool2")
        net = points["Flatten"] = flatten(style, net)
        net = fully_connected(style, net, 384, weights=dense, bias=0.1, scope="fc3")
        points["fc3"] = net
        net = dropout(style, net, dropout_keep_prob, scope="dropout3")
        net = fully_connected(style, net, 192, weights=dense, bias=0.1, scope="fc4")
        points["fc4"] = net
        logits = fully_connected(
            style,
            net,
            num_classes,
            linear=True,
            weights=truncated_normal(1.0 / 192.0),
            decay=False,
            scope="logits",
        )
        points["Logits"] = logits
        points["Predictions"] = tf.nn.softmax(logits, name="Predictions")
        return logits


def _local_norm(style: Style, net: tf.Tensor, name: str) -> tf.Tensor:
    # TensorFlow's kernel normalizes along the last axis only.
    if style.data_format == "NCHW":
        net = tf.transpose(net, [0, 2, 3, 1])
    net = tf.nn.lrn(net, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name=name)
    return tf.transpose(net, [0, 3, 1, 2]) if style.data_format == "NCHW" else net
