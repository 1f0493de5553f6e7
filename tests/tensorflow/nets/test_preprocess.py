"""What each family does to images by default."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets import default_preprocess_fn
from moxing.tensorflow.nets.registry import NETWORKS

RGB = np.random.default_rng(0).integers(0, 256, (2, 6, 5, 3)).astype(np.float32)


def _preprocessed(name: str, images: np.ndarray, dtype: tf.DType = tf.float32) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        result = default_preprocess_fn(tf.constant(images, dtype), "EVAL", name)
        assert result.dtype == dtype
        return session.run(tf.cast(result, tf.float32))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("resnet_v1_50", RGB - np.array([123.68, 116.78, 103.94])),
        ("pvanet", RGB - np.array([122.7717, 115.9465, 102.9801])),
        ("inception_v3", RGB / 127.5 - 1.0),
        ("lenet", (RGB - 128.0) / 128.0),
        (
            "resnet_v1_20",
            (RGB - RGB.mean((1, 2, 3), keepdims=True)) / RGB.std((1, 2, 3), keepdims=True),
        ),
    ],
)
def test_families(name: str, expected: np.ndarray) -> None:
    np.testing.assert_allclose(_preprocessed(name, RGB), expected, rtol=1e-4, atol=1e-4)
    half = _preprocessed(name, RGB, tf.float16)
    np.testing.assert_allclose(half, expected, rtol=2e-3, atol=0.13)


def test_every_network_has_a_documented_family() -> None:
    assert {network.preprocessing for network in NETWORKS.values()} == {
        "vgg_preprocessing",
        "inception_preprocessing",
        "cifarnet_preprocessing",
        "lenet_preprocessing",
        "pvanet_preprocessing",
    }
    assert NETWORKS["mobilenet_v2"].preprocessing == "inception_preprocessing"
    assert NETWORKS["nasnet_cifar"].preprocessing == "cifarnet_preprocessing"
    assert NETWORKS["resnext_b_50"].preprocessing == "vgg_preprocessing"
