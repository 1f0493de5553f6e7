"""Inception v4 (Szegedy et al., arXiv:1602.07261)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.families.inception.modules import (
    Avg,
    Branch,
    Conv,
    Fork,
    Max,
    auxiliary_features,
    dense_logits,
    inception_style,
    mixed,
    stem,
)
from moxing.tensorflow.nets.layers import flatten, fully_connected
from moxing.tensorflow.nets.style import Style, xavier_uniform

_STEM = (
    Conv("Conv2d_1a_3x3", 32, 3, 2, "VALID"),
    Conv("Conv2d_2a_3x3", 32, 3, 1, "VALID"),
    Conv("Conv2d_2b_3x3", 64, 3),
)
_MODULES: dict[str, Sequence[Branch]] = {
    "Mixed_3a": (
        [Max("MaxPool_0a_3x3", 2, "VALID")],
        [Conv("Conv2d_0a_3x3", 96, 3, 2, "VALID")],
    ),
    "Mixed_4a": (
        [Conv("Conv2d_0a_1x1", 64, 1), Conv("Conv2d_1a_3x3", 96, 3, 1, "VALID")],
        [
            Conv("Conv2d_0a_1x1", 64, 1),
            Conv("Conv2d_0b_1x7", 64, (1, 7)),
            Conv("Conv2d_0c_7x1", 64, (7, 1)),
            Conv("Conv2d_1a_3x3", 96, 3, 1, "VALID"),
        ],
    ),
    "Mixed_5a": (
        [Conv("Conv2d_1a_3x3", 192, 3, 2, "VALID")],
        [Max("MaxPool_1a_3x3", 2, "VALID")],
    ),
}
_A: Sequence[Branch] = (
    [Conv("Conv2d_0a_1x1", 96, 1)],
    [Conv("Conv2d_0a_1x1", 64, 1), Conv("Conv2d_0b_3x3", 96, 3)],
    [Conv("Conv2d_0a_1x1", 64, 1), Conv("Conv2d_0b_3x3", 96, 3), Conv("Conv2d_0c_3x3", 96, 3)],
    [Avg(), Conv("Conv2d_0b_1x1", 96, 1)],
)
_REDUCTION_A: Sequence[Branch] = (
    [Conv("Conv2d_1a_3x3", 384, 3, 2, "VALID")],
    [
        Conv("Conv2d_0a_1x1", 192, 1),
        Conv("Conv2d_0b_3x3", 224, 3),
        Conv("Conv2d_1a_3x3", 256, 3, 2, "VALID"),
    ],
    [Max("MaxPool_1a_3x3", 2, "VALID")],
)
_B: Sequence[Branch] = (
    [Conv("Conv2d_0a_1x1", 384, 1)],
    [
        Conv("Conv2d_0a_1x1", 192, 1),
        Conv("Conv2d_0b_1x7", 224, (1, 7)),
        Conv("Conv2d_0c_7x1", 256, (7, 1)),
    ],
    [
        Conv("Conv2d_0a_1x1", 192, 1),
        Conv("Conv2d_0b_7x1", 192, (7, 1)),
        Conv("Conv2d_0c_1x7", 224, (1, 7)),
        Conv("Conv2d_0d_7x1", 224, (7, 1)),
        Conv("Conv2d_0e_1x7", 256, (1, 7)),
    ],
    [Avg(), Conv("Conv2d_0b_1x1", 128, 1)],
)
_REDUCTION_B: Sequence[Branch] = (
    [Conv("Conv2d_0a_1x1", 192, 1), Conv("Conv2d_1a_3x3", 192, 3, 2, "VALID")],
    [
        Conv("Conv2d_0a_1x1", 256, 1),
        Conv("Conv2d_0b_1x7", 256, (1, 7)),
        Conv("Conv2d_0c_7x1", 320, (7, 1)),
        Conv("Conv2d_1a_3x3", 320, 3, 2, "VALID"),
    ],
    [Max("MaxPool_1a_3x3", 2, "VALID")],
)
_C: Sequence[Branch] = (
    [Conv("Conv2d_0a_1x1", 256, 1)],
    [
        Conv("Conv2d_0a_1x1", 384, 1),
        Fork((Conv("Conv2d_0b_1x3", 256, (1, 3)), Conv("Conv2d_0c_3x1", 256, (3, 1)))),
    ],
    [
        Conv("Conv2d_0a_1x1", 384, 1),
        Conv("Conv2d_0b_3x1", 448, (3, 1)),
        Conv("Conv2d_0c_1x3", 512, (1, 3)),
        Fork((Conv("Conv2d_0d_1x3", 256, (1, 3)), Conv("Conv2d_0e_3x1", 256, (3, 1)))),
    ],
    [Avg(), Conv("Conv2d_0b_1x1", 256, 1)],
)
_BLOCKS: dict[str, Sequence[Branch]] = {
    **_MODULES,
    **{f"Mixed_5{letter}": _A for letter in "bcde"},
    "Mixed_6a": _REDUCTION_A,
    **{f"Mixed_6{letter}": _B for letter in "bcdefgh"},
    "Mixed_7a": _REDUCTION_B,
    **{f"Mixed_7{letter}": _C for letter in "bcd"},
}


def inception_v4(
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
    dense = replace(style, weights=xavier_uniform())
    with tf.variable_scope(scope):
        net = stem(style, net, _STEM)
        for name, branches in _BLOCKS.items():
            net = mixed(style, net, name, branches)
        if style.training and create_aux_logits:
            with tf.variable_scope("AuxLogits"):
                features = auxiliary_features(
                    style,
                    style.end_points["Mixed_6h"],
                    pool_scope="AvgPool_1a_5x5",
                    scope="Conv2d_2a",
                )
                style.end_points["AuxLogits"] = fully_connected(
                    dense, flatten(style, features), num_classes, linear=True, scope="Aux_logits"
                )
        return dense_logits(
            dense,
            net,
            num_classes,
            pool="AvgPool_1a",
            dropout_scope="Dropout_1b",
            keep=dropout_keep_prob,
        )
