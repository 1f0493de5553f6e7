"""Inception v3 (Szegedy et al., arXiv:1512.00567)."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.inception.modules import (
    Avg,
    Branch,
    Conv,
    Fork,
    Max,
    auxiliary_features,
    convolutional_logits,
    inception_style,
    mixed,
    stem,
)
from moxing.tensorflow.nets.layers import conv2d, squeeze
from moxing.tensorflow.nets.style import Style, truncated_normal

_STEM = (
    Conv("Conv2d_1a_3x3", 32, 3, 2, "VALID"),
    Conv("Conv2d_2a_3x3", 32, 3, 1, "VALID"),
    Conv("Conv2d_2b_3x3", 64, 3),
    Max("MaxPool_3a_3x3", 2, "VALID"),
    Conv("Conv2d_3b_1x1", 80, 1),
    Conv("Conv2d_4a_3x3", 192, 3, 1, "VALID"),
    Max("MaxPool_5a_3x3", 2, "VALID"),
)


def inception_v3(
    style: Style,
    net: tf.Tensor,
    num_classes: int,
    *,
    scope: str,
    dropout_keep_prob: float = 0.8,
    create_aux_logits: bool = True,
) -> tf.Tensor:
    """Returns the logits; published for 299x299 pixels. `AuxLogits` is built only in training."""
    style = inception_style(style)
    with tf.variable_scope(scope):
        net = stem(style, net, _STEM)
        for name, branches in _modules().items():
            net = mixed(style, net, name, branches)
        if style.training and create_aux_logits:
            style.end_points["AuxLogits"] = _auxiliary(
                style, style.end_points["Mixed_6e"], num_classes
            )
        return convolutional_logits(
            style,
            net,
            num_classes,
            pool="AvgPool_1a_8x8",
            scope="Conv2d_1c_1x1",
            dropout_scope="Dropout_1b",
            keep=dropout_keep_prob,
        )


def _auxiliary(style: Style, net: tf.Tensor, num_classes: int) -> tf.Tensor:
    with tf.variable_scope("AuxLogits"):
        net = auxiliary_features(
            style,
            net,
            pool_scope="AvgPool_1a_5x5",
            scope="Conv2d_2a_{}x{}",
            largest=5,
            stddev=0.01,
        )
        net = conv2d(
            style,
            net,
            num_classes,
            1,
            linear=True,
            normalize=False,
            weights=truncated_normal(0.001),
            scope="Conv2d_2b_1x1",
        )
        return squeeze(style, net, name="SpatialSqueeze")


def _modules() -> dict[str, Sequence[Branch]]:
    return {
        "Mixed_5b": _module_5(32, "Conv2d_0a_1x1", "Conv2d_0b_5x5"),
        # These two layers have odd names in slim, and so in every checkpoint.
        "Mixed_5c": _module_5(64, "Conv2d_0b_1x1", "Conv_1_0c_5x5"),
        "Mixed_5d": _module_5(64, "Conv2d_0a_1x1", "Conv2d_0b_5x5"),
        "Mixed_6a": _reduction_6(),
        "Mixed_6b": _module_6(128),
        "Mixed_6c": _module_6(160),
        "Mixed_6d": _module_6(160),
        "Mixed_6e": _module_6(192),
        "Mixed_7a": _reduction_7(),
        "Mixed_7b": _module_7("Conv2d_0b_3x1"),
        "Mixed_7c": _module_7("Conv2d_0c_3x1"),
    }


def _module_5(pooled: int, reduce: str, five: str) -> Sequence[Branch]:
    return (
        [Conv("Conv2d_0a_1x1", 64, 1)],
        [Conv(reduce, 48, 1), Conv(five, 64, 5)],
        [Conv("Conv2d_0a_1x1", 64, 1), Conv("Conv2d_0b_3x3", 96, 3), Conv("Conv2d_0c_3x3", 96, 3)],
        [Avg(), Conv("Conv2d_0b_1x1", pooled, 1)],
    )


def _reduction_6() -> Sequence[Branch]:
    # The names say 1x1, but the kernels are 3x3.
    return (
        [Conv("Conv2d_1a_1x1", 384, 3, 2, "VALID")],
        [
            Conv("Conv2d_0a_1x1", 64, 1),
            Conv("Conv2d_0b_3x3", 96, 3),
            Conv("Conv2d_1a_1x1", 96, 3, 2, "VALID"),
        ],
        [Max("MaxPool_1a_3x3", 2, "VALID")],
    )


def _module_6(depth: int) -> Sequence[Branch]:
    return (
        [Conv("Conv2d_0a_1x1", 192, 1)],
        [
            Conv("Conv2d_0a_1x1", depth, 1),
            Conv("Conv2d_0b_1x7", depth, (1, 7)),
            Conv("Conv2d_0c_7x1", 192, (7, 1)),
        ],
        [
            Conv("Conv2d_0a_1x1", depth, 1),
            Conv("Conv2d_0b_7x1", depth, (7, 1)),
            Conv("Conv2d_0c_1x7", depth, (1, 7)),
            Conv("Conv2d_0d_7x1", depth, (7, 1)),
            Conv("Conv2d_0e_1x7", 192, (1, 7)),
        ],
        [Avg(), Conv("Conv2d_0b_1x1", 192, 1)],
    )


def _reduction_7() -> Sequence[Branch]:
    return (
        [Conv("Conv2d_0a_1x1", 192, 1), Conv("Conv2d_1a_3x3", 320, 3, 2, "VALID")],
        [
            Conv("Conv2d_0a_1x1", 192, 1),
            Conv("Conv2d_0b_1x7", 192, (1, 7)),
            Conv("Conv2d_0c_7x1", 192, (7, 1)),
            Conv("Conv2d_1a_3x3", 192, 3, 2, "VALID"),
        ],
        [Max("MaxPool_1a_3x3", 2, "VALID")],
    )


def _module_7(tall: str) -> Sequence[Branch]:
    return (
        [Conv("Conv2d_0a_1x1", 320, 1)],
        [
            Conv("Conv2d_0a_1x1", 384, 1),
            Fork((Conv("Conv2d_0b_1x3", 384, (1, 3)), Conv(tall, 384, (3, 1)))),
        ],
        [
            Conv("Conv2d_0a_1x1", 448, 1),
            Conv("Conv2d_0b_3x3", 384, 3),
            Fork((Conv("Conv2d_0c_1x3", 384, (1, 3)), Conv("Conv2d_0d_3x1", 384, (3, 1)))),
        ],
        [Avg(), Conv("Conv2d_0b_1x1", 192, 1)],
    )
