"""PVANET's stages have the weights that its paper's table lists (arXiv:1608.08021, table 1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow.compat.v1 as tf

# Thousands of weights; the paper counts neither biases nor scales.
TABLE_1 = {
    "conv1_1": 2.4,
    "conv2_1": 11,
    "conv2_2": 9.8,
    "conv2_3": 9.8,
    "conv3_1": 44,
    "conv3_2": 39,
    "conv3_3": 39,
    "conv3_4": 39,
    "conv4_1": 247,
    "conv4_2": 205,
    "conv4_3": 205,
    "conv4_4": 205,
    "conv5_1": 573,
    "conv5_2": 418,
    "conv5_3": 418,
    "conv5_4": 418,
}
# Height, width, channels for images of 192x192 pixels.
SIZES = {"conv1_1": (96, 32), "conv2": (48, 64), "conv3": (24, 128), "conv4": (12, 256)}


def test_weights_and_sizes_of_every_unit(
    build: Callable[..., tuple[tf.Tensor, dict[str, tf.Tensor]]], graph: tf.Graph
) -> None:
    _, points = build("pvanet", "EVAL", size=192)
    for unit, thousands in TABLE_1.items():
        count = sum(
            int(np.prod(v.shape))
            for v in tf.trainable_variables()
            if v.op.name.startswith(f"pvanet/{unit}/") and v.op.name.endswith("/weights")
        )
        digits = len(str(thousands).partition(".")[2])
        assert round(count / 1000, digits) == thousands
    for stage, (side, depth) in {**SIZES, "conv5": (6, 384)}.items():
        assert points[stage].shape.as_list() == [2, side, side, depth]
