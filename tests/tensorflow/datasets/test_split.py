"""Splitting a tree: whole, disjoint, in proportion, the same each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moxing.errors import MoxValueError
from moxing.tensorflow.datasets import (
    ImageClassificationRawMetadata,
    split_image_classification_dataset,
)
from moxing.tensorflow.datasets.raw import raw_dataset
from moxing.tensorflow.datasets.reader import raw_reader


def images(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*.jpg")}


def test_each_class_is_split_in_proportion(make_tree: Any, tmp_path: Path) -> None:
    base = make_tree({"daisy": 10, "roses": 5})
    spec = {"train": 0.8, "eval": 0.2}
    assert split_image_classification_dataset(spec, base, tmp_path / "out") == {
        "train": 12,
        "eval": 3,
    }
    train, held = images(tmp_path / "out" / "train"), images(tmp_path / "out" / "eval")
    assert train | held == images(base)
    assert not train & held
    assert sum(name.startswith("daisy") for name in held) == 2
    for name in train:
        assert (tmp_path / "out" / "train" / name).read_bytes() == (base / name).read_bytes()
    metadata = ImageClassificationRawMetadata(tmp_path / "out" / "eval")
    assert metadata.labels_list == ["daisy", "roses"]

    split_image_classification_dataset("train:0.8, eval:0.2", base, tmp_path / "again")
    assert images(tmp_path / "again" / "eval") == held


def test_small_classes_and_fractions_below_one(make_tree: Any, tmp_path: Path) -> None:
    base = make_tree({"a": 1, "b": 0, "c": 3})
    (base / "labels.txt").write_text("0: c\n1: b\n2: a\n")
    counts = split_image_classification_dataset({"x": 0.5}, base, tmp_path / "out")
    assert counts["x"] == len(images(tmp_path / "out" / "x"))
    assert (tmp_path / "out" / "x" / "labels.txt").read_text() == "0: c\n1: b\n2: a\n"
    assert (tmp_path / "out" / "x" / "b").is_dir()


def test_splits_are_replaced_only_on_demand(make_tree: Any, tmp_path: Path) -> None:
    base = make_tree({"a": 4})
    split_image_classification_dataset({"train": 0.5, "eval": 0.5}, base, tmp_path)
    with pytest.raises(MoxValueError) as caught:
        split_image_classification_dataset({"train": 1.0}, base, tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/train exists already. Pass overwrite=True to replace it, or another dst_dir."
    )
    split_image_classification_dataset({"train": 0.25}, base, tmp_path, overwrite=True)
    assert len(images(tmp_path / "train")) == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"a": 0.9, "b": 0.2},
            "split_spec={'a': 0.9, 'b': 0.2}: fractions must be above 0 and sum to at most 1, not"
            " 1.1.",
        ),
        (
            "train",
            "split_spec='train'; it must be fractions by name: {'train': 0.9, 'eval': 0.1}.",
        ),
    ],
)
def test_fractions_that_make_no_sense(
    make_tree: Any, tmp_path: Path, spec: Any, message: str
) -> None:
    with pytest.raises(MoxValueError) as caught:
        split_image_classification_dataset(spec, make_tree({"a": 1}), tmp_path / "out")
    assert str(caught.value) == message


def test_the_source_is_never_replaced(make_tree: Any, tmp_path: Path) -> None:
    base = make_tree({"a": 2}, base="train/images")
    with pytest.raises(MoxValueError) as caught:
        split_image_classification_dataset({"train": 1.0}, base, tmp_path, overwrite=True)
    assert str(caught.value) == (
        f"the split {tmp_path}/train would replace {base}. Choose another dst_dir."
    )
    assert len(images(base)) == 2


def test_modules_that_old_programs_import() -> None:
    for module in (raw_dataset, raw_reader):
        assert module.split_image_classification_dataset is split_image_classification_dataset
