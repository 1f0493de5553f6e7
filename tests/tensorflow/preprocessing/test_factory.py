"""get_data_augmentation_fn: names, modes, sizes, options and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxError, MoxTypeError, MoxValueError
from moxing.tensorflow.preprocessing import get_data_augmentation_fn
from moxing.tensorflow.preprocessing.cifarnet import Cifarnet
from moxing.tensorflow.preprocessing.inception import Inception
from moxing.tensorflow.preprocessing.lenet import Lenet
from moxing.tensorflow.preprocessing.pvanet import Pvanet
from moxing.tensorflow.preprocessing.vgg import Vgg

FAMILIES = (
    "Known: cifarnet_preprocessing, inception_preprocessing, lenet_preprocessing, "
    "pvanet_preprocessing, vgg_preprocessing."
)


@pytest.mark.parametrize(
    ("name", "family", "size"),
    [
        ("resnet_v1_50", Vgg, 224),
        ("resnet_v2_101", Vgg, 224),
        ("resnext_b_50", Vgg, 224),
        ("vgg_16", Vgg, 224),
        ("alexnet_v2", Vgg, None),
        ("overfeat", Vgg, None),
        ("inception_v1", Inception, None),
        ("inception_v3", Inception, 299),
        ("inception_resnet_v2", Inception, 299),
        ("mobilenet_v1_050", Inception, 224),
        ("mobilenet_v2", Inception, 224),
        ("nasnet_mobile", Inception, 224),
        ("nasnet_large", Inception, 331),
        ("pnasnet_large", Inception, 331),
        ("cifarnet", Cifarnet, 32),
        ("resnet_v1_20", Cifarnet, 32),
        ("resnet_v1_110", Cifarnet, 32),
        ("nasnet_cifar", Cifarnet, 32),
        ("lenet", Lenet, 28),
        ("pvanet", Pvanet, None),
    ],
)
def test_networks_have_their_family_and_size(name: str, family: type, size: int | None) -> None:
    function = get_data_augmentation_fn(name, "TRAIN")
    assert isinstance(function.family, family)
    assert function.random
    assert function.height == function.width
    if size is not None:
        assert function.height == size


def test_a_size_that_is_given_wins() -> None:
    function = get_data_augmentation_fn("vgg_preprocessing", "EVAL", 120, 160)
    assert (function.height, function.width, function.random) == (120, 160, False)


def test_options_reach_the_family() -> None:
    function = get_data_augmentation_fn(
        "inception_preprocessing", "TRAIN", 8, 8, fast_mode=False, area_range=(0.5, 1.0)
    )
    assert function.family == Inception(fast_mode=False, area_range=(0.5, 1.0))


V = "vgg_preprocessing"


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        (
            ("vgg16_preprocessing", "TRAIN", 8, 8),
            {},
            MoxValueError,
            f"unknown family 'vgg16_preprocessing'. Did you mean 'vgg_preprocessing' or "
            f"'pvanet_preprocessing' or 'lenet_preprocessing'? {FAMILIES}",
        ),
        (
            (None, "TRAIN", 8, 8),
            {},
            MoxTypeError,
            "the name of a network is a string, not NoneType.",
        ),
        (
            (V, "train", 8, 8),
            {},
            MoxValueError,
            "unknown run_mode 'train'. Did you mean 'TRAIN'? Known: TRAIN, EVAL, PREDICT, EXPORT.",
        ),
        (
            (V, None, 8, 8),
            {},
            MoxValueError,
            "unknown run_mode None. Known: TRAIN, EVAL, PREDICT, EXPORT.",
        ),
        (
            (V, "EVAL", 8),
            {},
            MoxValueError,
            "output_width must be given, as the family 'vgg_preprocessing' has no default size.",
        ),
        ((V, "EVAL", 0, 8), {}, MoxValueError, "output_height is 0; it must be at least 1."),
        (
            (V, "EVAL", 8, 8.0),
            {},
            MoxTypeError,
            "output_width is 8.0 (float); it must be a whole number of pixels.",
        ),
        (
            (V, "EVAL", 8, 8),
            {"resize_min": 3},
            MoxTypeError,
            "vgg_preprocessing has no option 'resize_min'. Did you mean 'resize_side_min' or "
            "'resize_side_max'? Its options: resize_side_min, resize_side_max.",
        ),
        (
            ("lenet_preprocessing", "EVAL", 8, 8),
            {"padding": 3},
            MoxTypeError,
            "lenet_preprocessing has no option 'padding'. Its options: none.",
        ),
    ],
)
def test_bad_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        get_data_augmentation_fn(*args, **kwargs)
    assert str(caught.value) == f"get_data_augmentation_fn: {message}"


@pytest.mark.parametrize(
    ("family", "options", "message"),
    [
        ("vgg", {"resize_side_min": 0}, "resize_side_min is 0; it must be above 0."),
        (
            "inception",
            {"area_range": (0.0, 1.0)},
            "area_range is (0.0, 1.0); it must satisfy 0 < low <= high <= 1.",
        ),
        (
            "inception",
            {"aspect_ratio_range": (2.0, 1.0)},
            "aspect_ratio_range is (2.0, 1.0); it must satisfy 0 < low <= high.",
        ),
        ("inception", {"central_fraction": 1.5}, "central_fraction is 1.5; it must be in (0, 1]."),
        ("cifarnet", {"padding": -1}, "padding is -1; it must be a whole number of at least 0."),
    ],
)
def test_bad_options(family: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(MoxValueError) as caught:
        get_data_augmentation_fn(f"{family}_preprocessing", "TRAIN", 8, 8, **options)
    assert str(caught.value) == f"{family}_preprocessing: {message}"


def test_sides_in_the_wrong_order() -> None:
    function = get_data_augmentation_fn(V, "TRAIN", 224, 224, resize_side_min=600)
    with tf.Graph().as_default(), pytest.raises(MoxValueError) as caught:
        function(np.zeros((4, 4, 3), np.uint8))
    assert str(caught.value) == (
        "vgg_preprocessing: resize_side_max is 512, less than resize_side_min, which is 600."
    )


def test_unknown_networks_are_named_with_near_matches() -> None:
    with pytest.raises(MoxValueError) as caught:
        get_data_augmentation_fn("resnet_v1_5", "TRAIN")
    assert "unknown network 'resnet_v1_5'. Did you mean" in str(caught.value)
    assert "'resnet_v1_50'" in str(caught.value)


SHAPED = "image.set_shape([None, None, 3])"


@pytest.mark.parametrize(
    ("dtype", "shape", "error", "message"),
    [
        (
            tf.string,
            [],
            MoxTypeError,
            "is of string; it must be of whole numbers or floats, from 0 to 255. Decode it first, "
            "with tf.image.decode_jpeg.",
        ),
        (
            tf.bool,
            [4, 4, 3],
            MoxTypeError,
            "is of bool; it must be of whole numbers or floats, from 0 to 255.",
        ),
        (
            tf.complex64,
            [4, 4, 3],
            MoxTypeError,
            "is of complex64; it must be of whole numbers or floats, from 0 to 255.",
        ),
        (
            tf.uint8,
            None,
            MoxValueError,
            f"has an unknown shape; say what is known of it: {SHAPED}",
        ),
        (
            tf.uint8,
            [8, None, None, 3],
            MoxValueError,
            "has shape [8, None, None, 3], which is a batch; augment each image, "
            "[height, width, channels], before batching.",
        ),
        (
            tf.uint8,
            [4, 4],
            MoxValueError,
            "has shape [4, 4]; it must be [height, width, channels]. "
            "Add the channel: image[:, :, tf.newaxis].",
        ),
        (
            tf.uint8,
            [4],
            MoxValueError,
            "has shape [4]; it must be [height, width, channels].",
        ),
        (
            tf.uint8,
            [None, None, None],
            MoxValueError,
            f"has shape [None, None, None]; the number of channels must be known: {SHAPED}",
        ),
    ],
)
def test_images_that_are_none(
    dtype: tf.DType, shape: Any, error: type[MoxError], message: str
) -> None:
    function = get_data_augmentation_fn(V, "TRAIN", 8, 8)
    with tf.Graph().as_default(), pytest.raises(error) as caught:
        function(tf.placeholder(dtype, shape))
    assert str(caught.value) == f"augmentation: the image {message}"
