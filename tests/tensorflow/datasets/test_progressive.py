"""Stages of growing images: sizes, switches, resumption, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data import feed
from moxing.engine.data.feed import Feed
from moxing.errors import MoxError
from moxing.tensorflow.datasets.folders.convert import to_tfrecord
from moxing.tensorflow.datasets.tfrecord_image import ProgressiveImagenetDataset


@pytest.fixture
def pattern(make_tree: Any, tmp_path: Path) -> str:
    to_tfrecord(make_tree({"a": 3, "b": 4}), tmp_path / "out", parts=2)
    return str(tmp_path / "out" / "images-*")


def test_sizes_change_at_the_switches_also_when_resumed(pattern: str, read: Any) -> None:
    spec = [(pattern, 4, 8, 0.08), (pattern, 2, 16, 0.5), (pattern, 3, 12, 0.5)]

    def dataset() -> ProgressiveImagenetDataset:
        return ProgressiveImagenetDataset(7, spec, [3, 5], labels_offset=1)

    whole = read(dataset, ["image", "label"], Feed(seed=1), most=8)
    sizes = [row[0].shape for row in whole]
    assert sizes == [(4, 8, 8, 3)] * 3 + [(2, 16, 16, 3)] * 2 + [(3, 12, 12, 3)] * 3
    assert set(np.concatenate([row[1] for row in whole])) == {-1, 0}
    assert len({row[0].tobytes() for row in whole}) == 8
    for start in (2, 3, 6):
        rows = read(dataset, ["image", "label"], Feed(seed=1, start=start), most=8 - start)
        for row, wanted in zip(rows, whole[start:], strict=True):
            np.testing.assert_array_equal(row[0], wanted[0])
            np.testing.assert_array_equal(row[1], wanted[1])


def test_the_static_shape_is_what_stages_have_in_common(pattern: str) -> None:
    with tf.Graph().as_default():
        dataset = ProgressiveImagenetDataset(
            None, [(pattern, 4, 8, 0.08), (pattern, 4, 16, 0.5)], [3]
        )
        image, label = dataset.get(["image", "label"])
        assert image.shape.as_list() == [4, None, None, 3]
        assert label.shape.as_list() == [4]
        assert feed.is_positioned([image])


@pytest.mark.parametrize(
    ("spec", "switches", "message"),
    [
        (
            [("x", 1, 1, 0.5)] * 2,
            [],
            "ProgressiveImagenetDataset: ds_switch_steps=[]; 2 stages need 1 numbers of batches,"
            " each larger than the one before.",
        ),
        (
            [("x", 1, 1)],
            [],
            "ProgressiveImagenetDataset: strategy_spec has ('x', 1, 1); each stage is (file"
            " pattern, batch size, image size, least area).",
        ),
    ],
)
def test_stages_that_make_no_sense(spec: Any, switches: Any, message: str) -> None:
    with pytest.raises(MoxError) as caught:
        ProgressiveImagenetDataset(None, spec, switches)
    assert str(caught.value) == message
