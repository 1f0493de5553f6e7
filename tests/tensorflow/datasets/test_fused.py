"""Augmenting a reader's image in input_fn decodes as little as passing augmentation_fn does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data import feed, inputs
from moxing.engine.data.feed import Feed
from moxing.tensorflow.datasets import (
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
    ImageClassificationTFRecordDataset,
    ImageClassificationTFRecordMetadata,
)
from moxing.tensorflow.datasets.folders.convert import to_tfrecord
from moxing.tensorflow.preprocessing import get_data_augmentation_fn

ITEMS = ["image", "label", "image_name"]


@pytest.fixture(params=["raw", "tfrecord"])
def make(request: Any, make_tree: Any, tmp_path: Path) -> Callable[..., Any]:
    """`make(**arguments)`: a reader of eleven images, of files or of records."""
    tree = make_tree({"daisy": 5, "roses": 6})
    if request.param == "raw":
        raw = ImageClassificationRawMetadata(tree)
        return lambda **arguments: ImageClassificationRawDataset(raw, **arguments)
    to_tfrecord(str(tree), str(tmp_path / "records"))
    records = ImageClassificationTFRecordMetadata(tmp_path / "records", "*.tfrecord")
    return lambda **arguments: ImageClassificationTFRecordDataset(records, **arguments)


def _steps(
    input_fn: Callable[[str], Any], mode: str, auto_batch: bool, count: int, start: int = 0
) -> list[Any]:
    """What the first steps of a run get; `start` is in elements of the reader."""
    with tf.Graph().as_default(), tf.Session() as session:
        feed.announce(Feed(start=start, seed=7))
        made = inputs.build(input_fn, mode, 4, auto_batch)
        session.run(list(made.initializers))
        return [session.run(made.structure) for _ in range(count)]


def _augmenting(make: Callable[..., Any], mode: str, **arguments: Any) -> Callable[[str], Any]:
    def input_fn(_: str) -> Any:
        image, *rest = make(**arguments).get(ITEMS)
        return get_data_augmentation_fn("resnet_v1_50", mode, 8, 8)(image), *rest

    return input_fn


def _passing(make: Callable[..., Any], mode: str, **arguments: Any) -> Callable[[str], Any]:
    augment = get_data_augmentation_fn("resnet_v1_50", mode, 8, 8)
    return lambda _: make(batch_size=4, augmentation_fn=augment, **arguments).get(ITEMS)


def _assert_equal(some: list[Any], others: list[Any]) -> None:
    for one, other in zip(some, others, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_both_ways_give_the_same_batches(make: Callable[..., Any]) -> None:
    augmented = _steps(_augmenting(make, "TRAIN"), "TRAIN", True, 7)
    _assert_equal(augmented, _steps(_passing(make, "TRAIN"), "TRAIN", False, 7))
    assert augmented[0][0].shape == (4, 8, 8, 3)
    resumed = _steps(_augmenting(make, "TRAIN"), "TRAIN", True, 4, start=12)
    _assert_equal(augmented[3:], resumed)


def test_the_last_batch_of_an_evaluation_may_be_smaller(make: Callable[..., Any]) -> None:
    options = {"num_epochs": 1, "shuffle": False}
    augmented = _steps(_augmenting(make, "EVAL", **options), "EVAL", True, 3)
    _assert_equal(augmented, _steps(_passing(make, "EVAL", **options), "EVAL", False, 3))
    assert [len(step[0]) for step in augmented] == [4, 4, 3]


def test_of_the_whole_image_nothing_is_decoded(make: Callable[..., Any]) -> None:
    def operations(input_fn: Callable[[str], Any]) -> set[str]:
        with tf.Graph().as_default() as graph:
            made = inputs.build(input_fn, "TRAIN", 4, True)
            assert made.positioned
            [prefetch] = [op.inputs[0].op for op in made.initializers]
            return _functions_behind(graph, prefetch)

    fused = operations(_augmenting(make, "TRAIN"))
    assert "DecodeAndCropJpeg" in fused

    def with_another_use(mode: str) -> Any:
        image, label = make().get(["image", "label"])
        small = get_data_augmentation_fn("resnet_v1_50", mode, 8, 8)(image)
        return small, label, tf.shape(image)

    assert "DecodeAndCropJpeg" not in operations(with_another_use)


def _functions_behind(graph: tf.Graph, op: tf.Operation) -> set[str]:
    """The types of all operations in the functions of the datasets behind one."""
    from moxing.engine.graph import ancestry

    library = {item.signature.name: item for item in graph.as_graph_def().library.function}
    nodes = [item.node_def for item in ancestry.behind([op])]
    found: set[str] = set()
    seen: set[str] = set()
    while nodes:
        node = nodes.pop()
        found.add(node.op)
        for value in node.attr.values():
            names = [value.func.name, *(func.name for func in value.list.func)]
            for name in names:
                if name in library and name not in seen:
                    seen.add(name)
                    nodes += library[name].node_def
    return found


def test_a_damaged_image_is_named(make_tree: Any) -> None:
    tree = make_tree({"daisy": 3})
    path = tree / "daisy" / "1.jpg"
    path.write_bytes(path.read_bytes()[:100])
    metadata = ImageClassificationRawMetadata(tree)

    def make(**arguments: Any) -> Any:
        return ImageClassificationRawDataset(metadata, **arguments)

    with pytest.raises(tf.errors.OpError, match=str(path)):
        _steps(_augmenting(make, "TRAIN"), "TRAIN", True, 2)
