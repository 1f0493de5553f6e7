"""Inception modules as data: branches of convolutions and pools, concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import (
    Kernel,
    avg_pool,
    concat,
    conv2d,
    dropout,
    fully_connected,
    global_pool,
    max_pool,
    squeeze,
)
from moxing.tensorflow.nets.style import Style, truncated_normal


@dataclass(frozen=True)
class Conv:
    """A convolution; `stddev` is the deviation of its initial weights if not the style's."""

    scope: str
    depth: int
    kernel: Kernel
    stride: int = 1
    padding: str = "SAME"
    stddev: float | None = None


@dataclass(frozen=True)
class Max:
    """Max pooling over 3x3 pixels."""

    scope: str
    stride: int = 1
    padding: str = "SAME"


@dataclass(frozen=True)
class Avg:
    """Average pooling over 3x3 pixels at stride 1."""

    scope: str = "AvgPool_0a_3x3"


@dataclass(frozen=True)
class Fork:
    """Parallel convolutions of the same input, concatenated."""

    convs: tuple[Conv, ...]


Layer = Conv | Max | Avg | Fork
Branch = Sequence[Layer]


def inception_style(style: Style) -> Style:
    """Returns a style with slim's Inception batch norm: decay 0.9997, epsilon 0.001, no gamma."""
    return replace(style, norm_decay=0.9997, norm_epsilon=0.001, norm_scale=False)


def mixed(style: Style, net: tf.Tensor, scope: str, branches: Sequence[Branch]) -> tf.Tensor:
    """Concatenates `branches`, in scopes `<scope>/Branch_<i>`, as the end point `scope`."""
    outputs = []
    with tf.variable_scope(scope):
        for index, branch in enumerate(branches):
            with tf.variable_scope(f"Branch_{index}"):
                outputs.append(chain(style, net, branch))
        style.end_points[scope] = concat(style, outputs)
    return style.end_points[scope]


def chain(style: Style, net: tf.Tensor, layers: Sequence[Layer]) -> tf.Tensor:
    """Applies `layers` in sequence."""
    for layer in layers:
        net = apply(style, net, layer)
    return net


def apply(style: Style, net: tf.Tensor, layer: Layer) -> tf.Tensor:
    """Applies one layer of a branch."""
    if isinstance(layer, Fork):
        return concat(style, [apply(style, net, conv) for conv in layer.convs])
    if isinstance(layer, Avg):
        return avg_pool(style, net, 3, stride=1, scope=layer.scope)
    if isinstance(layer, Max):
        return max_pool(
            style, net, 3, stride=layer.stride, padding=layer.padding, scope=layer.scope
        )
    return conv2d(
        style,
        net,
        layer.depth,
        layer.kernel,
        stride=layer.stride,
        padding=layer.padding,
        weights=None if layer.stddev is None else truncated_normal(layer.stddev),
        scope=layer.scope,
    )


def stem(style: Style, net: tf.Tensor, layers: Sequence[Conv | Max]) -> tf.Tensor:
    """Applies `layers` in sequence; each is an end point under its scope."""
    for layer in layers:
        net = style.end_points[layer.scope] = apply(style, net, layer)
    return net


def convolutional_logits(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    pool: str,
    scope: str,
    dropout_scope: str,
    keep: float,
) -> tf.Tensor:
    """Applies the classifier in scope `Logits`: a global mean, dropout, a 1x1 convolution.

    The published pool has a window of 7x7 or 8x8, the whole map at the published image size. The
    global mean is equal there, and also accepts other sizes.
    """
    with tf.variable_scope("Logits"):
        net = style.end_points["global_pool"] = global_pool(style, net, name=pool)
        net = dropout(style, net, keep, scope=dropout_scope)
        style.end_points["PreLogits"] = net
        net = conv2d(style, net, num_classes, 1, linear=True, normalize=False, scope=scope)
        logits = squeeze(style, net, name="SpatialSqueeze")
    return _predict(style, logits)


def dense_logits(
    style: Style, net: tf.Tensor, num_classes: int, *, pool: str, dropout_scope: str, keep: float
) -> tf.Tensor:
    """Applies the classifier in scope `Logits`: a global mean, dropout, a dense layer `Logits`."""
    with tf.variable_scope("Logits"):
        pooled = global_pool(style, net, name=pool)
        style.end_points["global_pool"] = pooled
        net = tf.squeeze(pooled, style.spatial_axes)
        net = dropout(style, net, keep, scope=dropout_scope)
        style.end_points["PreLogitsFlatten"] = net
        logits = fully_connected(style, net, num_classes, linear=True, scope="Logits")
    return _predict(style, logits)


def _predict(style: Style, logits: tf.Tensor) -> tf.Tensor:
    style.end_points["Logits"] = logits
    style.end_points["Predictions"] = tf.nn.softmax(logits, name="Predictions")
    return logits


def auxiliary_features(
    style: Style,
    net: tf.Tensor,
    *,
    pool_scope: str,
    scope: str,
    largest: int | None = None,
    stddev: float | None = None,
) -> tf.Tensor:
    """Applies an auxiliary classifier's pool, 1x1 convolution and convolution of the whole map.

    The last kernel is as large as the map but at most `largest` pixels per side, and 5x5 if the
    map's size is unknown; `scope` is formatted with its size. Returns [batch, height, width, 768].
    """
    net = avg_pool(style, net, 5, stride=3, padding="VALID", scope=pool_scope)
    net = conv2d(style, net, 128, 1, scope="Conv2d_1b_1x1")
    height, width = (min(side or 5, largest or side or 5) for side in style.size(net))
    return conv2d(
        style,
        net,
        768,
        (height, width),
        padding="VALID",
        weights=None if stddev is None else truncated_normal(stddev),
        scope=scope.format(height, width),
    )
