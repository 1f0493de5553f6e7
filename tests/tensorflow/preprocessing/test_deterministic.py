"""EVAL, PREDICT and EXPORT of every family against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing import get_data_augmentation_fn

SIZES = [(300, 400), (400, 300), (224, 224), (37, 1000), (1, 1), (2, 300), (256, 256), (31, 33)]


@pytest.mark.parametrize("size", SIZES)
def test_vgg_takes_the_middle_of_the_scaled_image(
    size: tuple[int, int], picture: Any, augment: Any, reference: Any
) -> None:
    image = picture(*size)
    scale = max(256 / min(size), 224 / size[0], 224 / size[1])
    rows, columns = reference.window((224 / scale, 224 / scale), size)
    wanted = reference.bilinear(image[rows, columns], 224, 224)
    np.testing.assert_allclose(augment("vgg", "EVAL", image), wanted, atol=0.05)


def test_vgg_to_a_size_that_is_not_square(picture: Any, augment: Any, reference: Any) -> None:
    image = picture(120, 200)
    seen = augment("vgg", "EVAL", image, size=(60, 90), resize_side_min=100)
    rows, columns = reference.window((60 * 1.2, 90 * 1.2), (120, 200))
    np.testing.assert_allclose(seen, reference.bilinear(image[rows, columns], 60, 90), atol=0.05)


@pytest.mark.parametrize("size", SIZES)
def test_inception_resizes_the_central_part(
    size: tuple[int, int], picture: Any, augment: Any, reference: Any
) -> None:
    image = picture(*size)
    cut = [int(length * 0.0625) for length in size]
    crop = image[cut[0] : size[0] - cut[0], cut[1] : size[1] - cut[1]]
    wanted = reference.bilinear(crop, 299, 299)
    seen = augment("inception", "EVAL", image, size=(299, 299))
    np.testing.assert_allclose(seen, wanted, atol=0.05)


def test_inception_with_another_fraction(picture: Any, augment: Any, reference: Any) -> None:
    image = picture(100, 60)
    seen = augment("inception", "EVAL", image, size=(40, 40), central_fraction=1.0)
    np.testing.assert_allclose(seen, reference.bilinear(image, 40, 40), atol=0.05)


@pytest.mark.parametrize("size", SIZES)
def test_pvanet_resizes_three_quarters(
    size: tuple[int, int], picture: Any, augment: Any, reference: Any
) -> None:
    image = picture(*size)
    cut = [int(length * 0.125) for length in size]
    crop = image[cut[0] : size[0] - cut[0], cut[1] : size[1] - cut[1]]
    wanted = reference.bilinear(crop, 224, 224)
    np.testing.assert_allclose(augment("pvanet", "EVAL", image), wanted, atol=0.05)


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
@pytest.mark.parametrize("size", [(28, 28), (31, 33), (25, 27), (1, 1), (2, 300), (28, 5)])
@pytest.mark.parametrize("channels", [1, 3])
def test_lenet_cuts_and_pads_in_every_mode(
    mode: str,
    size: tuple[int, int],
    channels: int,
    picture: Any,
    augment: Any,
    reference: Any,
) -> None:
    image = picture(*size, channels)
    first = [(n - 28) // 2 if n >= 28 else -((28 - n) // 2) for n in size]
    wanted = reference.framed(image, first, (28, 28))
    seen = augment("lenet", mode, image, size=(28, 28))
    np.testing.assert_array_equal(seen, wanted)


@pytest.mark.parametrize("size", [(32, 32), (40, 29), (1, 1), (2, 300)])
def test_cifarnet_cuts_and_pads(
    size: tuple[int, int], picture: Any, augment: Any, reference: Any
) -> None:
    image = picture(*size)
    first = [(n - 32) // 2 if n >= 32 else -((32 - n) // 2) for n in size]
    wanted = reference.framed(image, first, (32, 32))
    np.testing.assert_array_equal(augment("cifarnet", "EVAL", image, size=(32, 32)), wanted)


@pytest.mark.parametrize("family", ["vgg", "inception", "cifarnet", "lenet", "pvanet"])
def test_all_modes_but_training_agree_and_repeat(family: str, picture: Any, augment: Any) -> None:
    image = picture(50, 70)
    first = augment(family, "EVAL", image, size=(32, 32))
    for mode in ("EVAL", "PREDICT", "EXPORT"):
        np.testing.assert_array_equal(augment(family, mode, image, size=(32, 32)), first)


DTYPES = [
    tf.uint8,
    tf.int8,
    tf.uint16,
    tf.int16,
    tf.int32,
    tf.int64,
    tf.float16,
    tf.bfloat16,
    tf.float32,
    tf.float64,
]


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
@pytest.mark.parametrize("family", ["vgg", "inception", "cifarnet", "lenet", "pvanet"])
def test_whole_numbers_and_floats_give_the_same_bits(family: str, mode: str, picture: Any) -> None:
    image = picture(61, 83) % 128  # so that int8 holds it too
    function = get_data_augmentation_fn(f"{family}_preprocessing", mode, 48, 40)
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.uint8, [None, None, 3])
        images = [function(tf.cast(fed, dtype), seed=[3, 4]) for dtype in DTYPES]
        bits, *others = session.run(images, {fed: image})
    assert np.unique(bits).size > 100
    for other in others:
        np.testing.assert_array_equal(other, bits)


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
@pytest.mark.parametrize("family", ["vgg", "inception", "cifarnet", "lenet", "pvanet"])
@pytest.mark.parametrize("channels", [1, 4])
def test_grey_and_transparent_images_keep_their_channels(
    family: str, mode: str, channels: int, picture: Any, augment: Any
) -> None:
    image = picture(30, 20, channels)
    seen = augment(family, mode, image, seed=[0, 1], size=(28, 28))
    assert seen.shape == (28, 28, channels)
    assert seen.std() > 1.0
