"""Augmentation inside tf.data functions, outside of them, and around a decoder that crops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.preprocessing import get_data_augmentation_fn

FAMILIES = ["vgg", "inception", "cifarnet", "lenet", "pvanet"]


@pytest.mark.parametrize("family", FAMILIES)
def test_in_a_parallel_map_keyed_by_the_sample(family: str, picture: Any, augment: Any) -> None:
    images = [picture(40 + 3 * index, 60 - index) for index in range(8)]
    function = get_data_augmentation_fn(f"{family}_preprocessing", "TRAIN", 32, 32)

    def generate() -> Any:
        yield from enumerate(images)

    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.from_generator(
            generate, (tf.int64, tf.uint8), ([], [None, None, 3])
        )
        dataset = dataset.map(
            lambda index, image: function(image, seed=tf.stack([9, index])), num_parallel_calls=4
        )
        batch = tf.data.make_one_shot_iterator(dataset.batch(8)).get_next()
        assert batch.shape.as_list() == [None, 32, 32, 3]
        seen = session.run(batch)
    for index, image in enumerate(images):
        wanted = augment(family, "TRAIN", image, seed=[9, index], size=(32, 32))
        np.testing.assert_array_equal(seen[index], wanted)


@pytest.mark.filterwarnings("error")
def test_in_a_map_with_the_seed_of_the_graph(picture: Any) -> None:
    image = picture(40, 50)

    def epoch() -> np.ndarray:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(3)
            function = get_data_augmentation_fn("vgg_preprocessing", "TRAIN", 16, 16)
            dataset = tf.data.Dataset.from_tensors(image).repeat(4).map(function).batch(4)
            return session.run(tf.data.make_one_shot_iterator(dataset).get_next())

    first = epoch()
    np.testing.assert_array_equal(first, epoch())
    assert len({one.tobytes() for one in first}) == 4


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_decoder_that_crops_gives_the_same(family: str, mode: str) -> None:
    smooth = np.linspace(0, 255, 96 * 128 * 3).reshape(96, 128, 3).astype(np.uint8)
    function = get_data_augmentation_fn(f"{family}_preprocessing", mode, 32, 32)
    with tf.Graph().as_default(), tf.Session() as session:
        jpeg = tf.constant(session.run(tf.io.encode_jpeg(smooth, chroma_downsampling=False)))
        whole = function(tf.io.decode_jpeg(jpeg, channels=3), seed=[1, 2])
        plan = function.plan(tf.io.extract_jpeg_shape(jpeg)[:2], seed=[1, 2])
        crop = tf.image.decode_and_crop_jpeg(jpeg, plan.window, channels=3)
        seen, wanted = session.run([function.finish(crop, plan), whole])
    np.testing.assert_allclose(seen, wanted, atol=1e-3)


def test_outside_of_a_graph_for_numpy_images(picture: Any) -> None:
    function = get_data_augmentation_fn("vgg_preprocessing", "EVAL", 20, 30)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(function(picture(40, 40))).shape == (20, 30, 3)
