"""Reading trees of class folders: items, order, batches, changes, workers, resumption."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data import feed
from moxing.engine.data.feed import Feed
from moxing.errors import MoxError
from moxing.tensorflow.datasets import (
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
)
from moxing.tensorflow.preprocessing import get_data_augmentation_fn

ITEMS = ["image", "label", "label_desc", "image_name"]


@pytest.fixture
def tree(make_tree: Callable[..., Path]) -> ImageClassificationRawMetadata:
    return ImageClassificationRawMetadata(make_tree({"daisy": 3, "roses": 4, "tulips": 2}))


def names(rows: list[list[Any]], column: int = 0) -> list[str]:
    return [row[column].decode() for row in rows]


def test_items(tree: Any, read: Any) -> None:
    with tf.Graph().as_default():
        image, label, text, name = ImageClassificationRawDataset(tree).get(ITEMS)
    assert (image.dtype, image.shape.as_list()) == (tf.uint8, [None, None, 3])
    assert (label.dtype, text.dtype, name.dtype) == (tf.int64, tf.string, tf.string)
    assert label.shape == text.shape == name.shape == []

    rows = read(lambda: ImageClassificationRawDataset(tree, num_epochs=1, shuffle=False), ITEMS)
    wanted = [(0, "daisy", index) for index in range(3)]
    wanted += [(1, "roses", index) for index in range(4)]
    wanted += [(2, "tulips", index) for index in range(2)]
    for number, (row, (label, text, index)) in enumerate(zip(rows, wanted, strict=True)):
        assert row[0].shape == (20 + index, 30 - index, 3)
        assert abs(int(row[0][:, :, 2].mean()) - number) <= 3
        assert (row[1], row[2].decode()) == (label, text)
        assert row[3].decode() == f"{text}/{index}.jpg"


def test_any_items_in_any_order_from_one_sample(tree: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = ImageClassificationRawDataset(tree)
        text, label = dataset.get(("label_desc", "label"))
        [name] = dataset.get("image_name")
        for _ in range(12):
            seen = session.run([text, label, name])
            assert seen[2].startswith(seen[0] + b"/")
            assert tree.labels_to_names[seen[1]].encode() == seen[0]


def test_one_hot_labels(tree: Any, read: Any) -> None:
    rows = read(
        lambda: ImageClassificationRawDataset(
            tree, num_epochs=1, shuffle=False, label_one_hot=True
        ),
        ["label"],
    )
    assert rows[4][0].dtype == np.float32
    np.testing.assert_array_equal(rows[4][0], [0, 1, 0])


def test_epochs_have_orders_of_their_own_that_the_seed_decides(tree: Any, read: Any) -> None:
    def order(seed: int | None) -> list[str]:
        dataset = lambda: ImageClassificationRawDataset(tree, num_epochs=3)  # noqa: E731
        return names(read(dataset, ["image_name"], Feed(seed=seed)))

    found = order(5)
    epochs = [found[:9], found[9:18], found[18:]]
    assert all(len(set(epoch)) == 9 for epoch in epochs)
    assert epochs[0] != epochs[1]
    assert order(5) == found
    assert order(6) != found
    assert order(None) != order(None)


@pytest.mark.parametrize("shards", [2, 4])
def test_workers_share_each_epoch(tree: Any, read: Any, shards: int) -> None:
    dataset = lambda: ImageClassificationRawDataset(tree, num_epochs=2)  # noqa: E731
    alone = names(read(dataset, ["image_name"], Feed(seed=5)))
    for shard in range(shards):
        share = names(read(dataset, ["image_name"], Feed(seed=5, shard=shard, shards=shards)))
        assert share == alone[shard::shards]


@pytest.mark.parametrize("start", [1, 9, 13])
def test_goes_on_where_an_earlier_run_stopped(tree: Any, read: Any, start: int) -> None:
    augment = get_data_augmentation_fn("resnet_v1_50", "TRAIN", 16, 16)

    def rows(start: int) -> list[list[Any]]:
        return read(
            lambda: ImageClassificationRawDataset(tree, num_epochs=2, augmentation_fn=augment),
            ["image", "image_name"],
            Feed(seed=5, start=start),
        )

    for seen, wanted in zip(rows(start), rows(0)[start:], strict=True):
        assert seen[1] == wanted[1]
        np.testing.assert_array_equal(seen[0], wanted[0])


def test_batches_cross_epochs_and_start_counts_them(tree: Any, read: Any) -> None:
    def batches(**options: Any) -> list[list[str]]:
        start = options.pop("start", 0)
        rows = read(
            lambda: ImageClassificationRawDataset(
                tree, batch_size=4, image_size=8, num_epochs=2, **options
            ),
            ["image_name"],
            Feed(seed=1, start=start),
        )
        return [[name.decode() for name in row[0]] for row in rows]

    found = batches()
    assert [len(batch) for batch in found] == [4, 4, 4, 4, 2]
    assert batches(drop_remainder=True) == found[:4]
    assert batches(start=3) == found[3:]


def test_batches_without_an_end_have_a_static_size(tree: Any) -> None:
    with tf.Graph().as_default():
        image, label = ImageClassificationRawDataset(tree, batch_size=4, image_size=(8, 6)).get(
            ["image", "label"]
        )
        assert (image.shape.as_list(), image.dtype) == ([4, 8, 6, 3], tf.uint8)
        assert label.shape.as_list() == [4]
    with tf.Graph().as_default():
        dataset = ImageClassificationRawDataset(tree, batch_size=4, image_size=8, num_epochs=1)
        assert dataset.get(["image"])[0].shape.as_list() == [None, 8, 8, 3]


def test_resizes_by_nearest_neighbor(tree: Any, read: Any) -> None:
    def first(**options: Any) -> np.ndarray:
        dataset = lambda: ImageClassificationRawDataset(tree, shuffle=False, **options)  # noqa: E731
        return read(dataset, ["image"], most=1)[0][0]

    whole, half = first(), first(image_size=(10, 15))
    np.testing.assert_array_equal(half, whole[1::2, 1::2])


def test_a_jpeg_is_augmented_as_if_all_of_it_was_decoded(tree: Any, read: Any) -> None:
    augment = get_data_augmentation_fn("resnet_v1_50", "EVAL", 16, 16)

    def rows(function: Any) -> list[list[Any]]:
        return read(
            lambda: ImageClassificationRawDataset(
                tree, num_epochs=1, shuffle=False, augmentation_fn=function
            ),
            ["image"],
        )

    for fused, plain in zip(rows(augment), rows(lambda image: augment(image)), strict=True):
        assert fused[0].dtype == np.float32
        # Where chroma is interpolated at the edge of a crop, its neighbors are not known.
        np.testing.assert_allclose(fused[0], plain[0], atol=6)


def test_random_numbers_of_the_users_function_follow_the_seed(tree: Any, read: Any) -> None:
    def augment(image: Any) -> Any:
        return tf.random.uniform([2]) + 0.0 * tf.reduce_sum(tf.cast(image, tf.float32))

    def rows(start: int, seed: int) -> np.ndarray:
        found = read(
            lambda: ImageClassificationRawDataset(tree, num_epochs=2, augmentation_fn=augment),
            ["image"],
            Feed(seed=seed, start=start),
        )
        return np.array([row[0] for row in found])

    whole = rows(0, seed=5)
    assert len({tuple(row) for row in whole}) == 18
    np.testing.assert_array_equal(rows(7, seed=5), whole[7:])
    assert not np.array_equal(rows(0, seed=6), whole)


def test_preprocess_fn_gets_contents_of_files(tree: Any, read: Any) -> None:
    def preprocess(name: Any, content: Any, label: Any, text: Any) -> Any:
        assert (name.dtype, content.dtype, label.dtype) == (tf.string, tf.string, tf.int64)
        size = tf.strings.length(content)
        return tf.strings.upper(name), size, label + 10, text

    rows = read(
        lambda: ImageClassificationRawDataset(
            tree, num_epochs=1, shuffle=False, batch_size=4, preprocess_fn=preprocess
        ),
        ITEMS,
    )
    sizes = [(Path(tree.base_dir) / f"daisy/{index}.jpg").stat().st_size for index in range(3)]
    assert rows[0][0][:3].tolist() == sizes
    assert rows[0][1].tolist() == [10, 10, 10, 11]
    assert rows[0][3][0] == b"DAISY/0.JPG"
    assert [len(row[0]) for row in rows] == [4, 4, 1]


def test_two_readers_of_one_graph_have_orders_of_their_own(tree: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        feed.announce(Feed(seed=5))
        datasets = [ImageClassificationRawDataset(tree) for _ in range(2)]
        both = [dataset.get(["image_name"])[0] for dataset in datasets]
        seen = [session.run(both) for _ in range(9)]
    assert [pair[0] for pair in seen] != [pair[1] for pair in seen]


def test_tells_the_engine_what_it_honors(tree: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        feed.announce(Feed(seed=5, start=4))
        image, name = ImageClassificationRawDataset(tree).get(["image", "image_name"])
        assert feed.is_positioned([image, name])
        seeds = feed.sample_seed(image)
        assert [session.run(seeds).tolist() for _ in range(2)] == [[5, 4], [5, 5]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"batch_size": 2},
            "ImageClassificationRawDataset: batch_size=2 needs images of one size: pass"
            " image_size=, augmentation_fn= or preprocess_fn=.",
        ),
        (
            {"num_epochs": 0},
            "ImageClassificationRawDataset: num_epochs=0; it must be at least 1.",
        ),
        (
            {"shuffle": 1},
            "ImageClassificationRawDataset: shuffle=1; it must be True or False.",
        ),
        (
            {"capacity": "many"},
            "ImageClassificationRawDataset: capacity='many'; it must be a whole number.",
        ),
        (
            {"image_size": (1, 2, 3)},
            "ImageClassificationRawDataset: image_size=(1, 2, 3); it must be one number of pixels,"
            " or (height, width).",
        ),
    ],
)
def test_refuses_arguments(tree: Any, options: dict[str, Any], message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(MoxError) as caught:
        ImageClassificationRawDataset(tree, **options).get(["image"])
    assert str(caught.value) == message


def test_refuses_unknown_items(tree: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(MoxError) as caught:
        ImageClassificationRawDataset(tree).get(["image", "lable"])
    assert str(caught.value) == (
        "ImageClassificationRawDataset.get: there is no item 'lable'. Did you mean 'label'? The"
        " items are 'image', 'label', 'label_desc', 'image_name'."
    )


def test_works_with_queue_runners_in_a_session_of_the_program(tree: Any) -> None:
    with tf.Graph().as_default():
        image, label = ImageClassificationRawDataset(tree).get(["image", "label"])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(tf.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            for _ in range(10):
                pixels, number = session.run([image, label])
                assert pixels.ndim == 3
                assert number in (0, 1, 2)
            coordinator.request_stop()
            coordinator.join(threads)
