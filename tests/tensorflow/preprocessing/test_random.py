"""TRAIN of every family against numpy with the same random numbers, and how they are drawn."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing import get_data_augmentation_fn

FAMILIES = ["vgg", "inception", "cifarnet", "pvanet"]
SEEDS = [(7, index) for index in range(6)]


def mirrored(image: np.ndarray, number: float) -> np.ndarray:
    return image[:, ::-1] if number < 0.5 else image


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [(300, 400), (37, 1000)])
def test_vgg(
    seed: Any, size: tuple[int, int], picture: Any, augment: Any, numbers: Any, reference: Any
) -> None:
    image = picture(*size)
    u = numbers(4, seed)
    side = 256 + (512 - 256) * u[0]
    scale = max(side / min(size), 224 / size[0], 224 / size[1])
    rows, columns = reference.window((224 / scale, 224 / scale), size, u[1:3])
    wanted = reference.bilinear(mirrored(image[rows, columns], u[3]), 224, 224)
    np.testing.assert_allclose(augment("vgg", "TRAIN", image, seed), wanted, atol=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_pvanet(seed: Any, picture: Any, augment: Any, numbers: Any, reference: Any) -> None:
    image = picture(90, 131)
    u = numbers(3, seed)
    rows, columns = reference.window((90 * 0.75, 131 * 0.75), (90, 131), u[:2])
    wanted = reference.bilinear(mirrored(image[rows, columns], u[2]), 64, 64)
    seen = augment("pvanet", "TRAIN", image, seed, size=(64, 64))
    np.testing.assert_allclose(seen, wanted, atol=0.05)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [(32, 32), (20, 45), (1, 1), (2, 300)])
def test_cifarnet(
    seed: Any, size: tuple[int, int], picture: Any, augment: Any, numbers: Any, reference: Any
) -> None:
    image = picture(*size)
    u = numbers(5, seed)
    first = []
    for axis in range(2):
        low = min(-4, (size[axis] - 32) // 2)
        high = max(size[axis] + 4 - 32, low)
        first.append(low + int((high - low + 1) * u[axis]))
    wanted = mirrored(reference.framed(image, first, (32, 32)), u[2]) + (-63 + 126 * u[3])
    mean = wanted.mean((0, 1))
    wanted = (0.2 + 1.6 * u[4]) * (wanted - mean) + mean
    seen = augment("cifarnet", "TRAIN", image, seed, size=(32, 32))
    np.testing.assert_allclose(seen, wanted, atol=1e-3)


def inception_crop(u: list[float], image: np.ndarray, reference: Any) -> np.ndarray:
    rows, columns = image.shape[:2]
    q = np.exp(np.log(3 / 4) / 2 + (np.log(4 / 3) - np.log(3 / 4)) / 2 * u[0])
    largest = min(rows * q, columns / q) ** 2
    top = min(largest, rows * columns)
    bottom = min(top, 0.08 * rows * columns)
    side = np.sqrt(bottom + (top - bottom) * u[1])
    window = reference.window((side / q, side * q), (rows, columns), u[2:4])
    return reference.bilinear(mirrored(image[window], u[4]), 64, 64)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [(120, 90), (40, 300), (1, 1)])
def test_inception(
    seed: Any, size: tuple[int, int], picture: Any, augment: Any, numbers: Any, reference: Any
) -> None:
    image = picture(*size)
    u = numbers(7, seed)
    wanted = inception_crop(u, image, reference)
    luma = wanted @ [0.299, 0.587, 0.114]
    saturation = 0.5 + u[6]
    wanted = saturation * wanted + (1 - saturation) * luma[..., np.newaxis]
    wanted = np.clip(wanted - 32 + 64 * u[5], 0, 255)
    seen = augment("inception", "TRAIN", image, seed, size=(64, 64))
    np.testing.assert_allclose(seen, wanted, atol=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_inception_with_all_colors(
    seed: Any, picture: Any, augment: Any, numbers: Any, reference: Any
) -> None:
    image = picture(120, 90)
    u = numbers(9, seed)
    wanted = inception_crop(u, image, reference)
    to_yiq = np.array(
        [[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]]
    )
    y, i, q = np.moveaxis(wanted @ to_yiq.T, 2, 0)
    angle = 2 * np.pi * (-0.2 + 0.4 * u[7])
    chroma = (0.5 + u[6]) * np.exp(1j * angle) * (i + 1j * q)
    wanted = np.stack([y, chroma.real, chroma.imag], 2) @ np.linalg.inv(to_yiq).T
    mean = wanted.mean((0, 1))
    wanted = np.clip((0.5 + u[8]) * (wanted - mean) + mean - 32 + 64 * u[5], 0, 255)
    seen = augment("inception", "TRAIN", image, seed, size=(64, 64), fast_mode=False)
    np.testing.assert_allclose(seen, wanted, atol=0.05)


def test_inception_of_a_grey_image_changes_brightness_only(
    picture: Any, augment: Any, numbers: Any, reference: Any
) -> None:
    image = picture(50, 50, 1)
    u = numbers(7, (1, 2))
    wanted = np.clip(inception_crop(u, image, reference) - 32 + 64 * u[5], 0, 255)
    seen = augment("inception", "TRAIN", image, (1, 2), size=(64, 64))
    np.testing.assert_allclose(seen, wanted, atol=0.05)


def windows(family: str, size: tuple[int, int], count: int, **options: Any) -> np.ndarray:
    function = get_data_augmentation_fn(f"{family}_preprocessing", "TRAIN", 224, 224, **options)
    with tf.Graph().as_default(), tf.Session() as session:
        seed = tf.placeholder(tf.int64, [2])
        window = session.make_callable(function.plan(tf.constant(size), seed).window, [seed])
        return np.array([window([11, index]) for index in range(count)])


@pytest.mark.parametrize("family", ["vgg", "inception", "pvanet"])
@pytest.mark.parametrize("size", [(1, 1), (2, 300), (300, 2), (224, 224), (375, 500)])
def test_windows_stay_inside(family: str, size: tuple[int, int]) -> None:
    found = windows(family, size, 200)
    assert (found[:, :2] >= 0).all()
    assert (found[:, 2:] >= 1).all()
    assert (found[:, :2] + found[:, 2:] <= size).all()


def test_inception_windows_keep_area_and_ratio() -> None:
    found = windows("inception", (600, 800), 400).astype(float)
    area = found[:, 2] * found[:, 3] / (600 * 800)
    ratio = found[:, 3] / found[:, 2]
    assert 0.078 < area.min() < 0.12
    assert area.max() > 0.9
    assert 0.74 < ratio.min() < 0.78
    assert 1.29 < ratio.max() < 1.35
    narrow = windows("inception", (600, 800), 50, area_range=(0.5, 0.6)).astype(float)
    area = narrow[:, 2] * narrow[:, 3] / (600 * 800)
    assert 0.495 < area.min() < area.max() < 0.605


def test_vgg_windows_are_those_of_sides_256_to_512() -> None:
    found = windows("vgg", (512, 700), 400)
    assert (found[:, 2] == found[:, 3]).all()
    assert 224 <= found[:, 2].min() < 230
    assert 440 < found[:, 2].max() <= 448
    few = windows("vgg", (300, 300), 50, resize_side_min=300, resize_side_max=300)
    assert (found[:, 2:] >= 224).all()
    assert (few[:, 2:] == 224).all()


def test_every_place_of_a_window_is_equally_likely() -> None:
    found = windows("pvanet", (8, 4), 2000)  # windows of 6 x 3: 3 x 2 places
    counts = Counter(map(tuple, found[:, :2].tolist()))
    assert set(counts) == {(row, column) for row in range(3) for column in range(2)}
    assert all(250 < count < 420 for count in counts.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_half_of_the_images_are_mirrored(family: str) -> None:
    # Rising from left to right, whatever part of it is used.
    image = np.tile(np.arange(64, dtype=np.float32) * 2, (64, 1))[:, :, np.newaxis]
    function = get_data_augmentation_fn(f"{family}_preprocessing", "TRAIN", 32, 32)
    with tf.Graph().as_default(), tf.Session() as session:
        seed = tf.placeholder(tf.int64, [2])
        middle = function(image, seed)[16, 8:24, 0]
        run = session.make_callable(middle[-1] > middle[0], [seed])
        rising = sum(bool(run([5, index])) for index in range(200))
    assert 70 < rising < 130


def draws(graph_seed: int | None, count: int = 3) -> list[np.ndarray]:
    image = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    with tf.Graph().as_default(), tf.Session() as session:
        if graph_seed is not None:
            tf.set_random_seed(graph_seed)
        result = get_data_augmentation_fn("inception_preprocessing", "TRAIN", 16, 16)(image)
        return [session.run(result) for _ in range(count)]


def test_the_seed_of_the_graph_fixes_all() -> None:
    first, again, other = draws(1), draws(1), draws(2)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert not np.array_equal(first[0], first[1])


def test_without_a_seed_chance_decides() -> None:
    assert not np.array_equal(draws(None)[0], draws(None)[0])


@pytest.mark.parametrize("family", FAMILIES)
def test_different_seeds_give_different_images(family: str, picture: Any, augment: Any) -> None:
    image = picture(64, 64)
    seen = [augment(family, "TRAIN", image, seed=seed, size=(32, 32)) for seed in SEEDS[:3]]
    again = augment(family, "TRAIN", image, seed=SEEDS[0], size=(32, 32))
    assert np.array_equal(seen[0], again)
    assert not np.array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[1], seen[2])
