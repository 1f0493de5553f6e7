"""Trees of class folders: what counts as an image, and what is said of wrong trees."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from moxing.errors import MoxValueError
from moxing.tensorflow.datasets import ImageClassificationRawMetadata, storage
from moxing.tensorflow.datasets.folders import tree


def refusal(base: Path) -> str:
    with pytest.raises(MoxValueError) as caught:
        ImageClassificationRawMetadata(base)
    return str(caught.value)


def test_what_is_no_image_is_left_out(
    make_tree: Any, encode: Any, smooth: Any, messages: Any
) -> None:
    base = make_tree({"daisy": 2})
    folder = base / "daisy"
    for name in ("notes.txt", "Thumbs.db", ".DS_Store", "README"):
        (folder / name).write_text("text")
    (folder / "without_extension").write_bytes(encode(smooth(8, 8, 0)))
    (folder / "inner").mkdir()
    (base / "LICENSE.txt").write_text("text")
    [found] = tree.class_folders(str(base))
    assert found.images == ("0.jpg", "1.jpg", "without_extension")
    assert messages() == [
        f"{folder}: left out 4 that are no image files: README, Thumbs.db, inner/, ..."
    ]


def test_a_pipe_is_not_waited_for(make_tree: Any, messages: Any) -> None:
    """In a folder that others may write to, anybody can make a pipe, or a link to a device."""
    base = make_tree({"roses": 1})
    os.mkfifo(f"{base}/roses/2.jpg")
    os.mkfifo(f"{base}/roses/pipe")
    os.symlink("/dev/zero", f"{base}/roses/3")
    os.symlink("nowhere", f"{base}/roses/4.jpg")
    assert tree.images(f"{base}/roses") == ("0.jpg", "4.jpg")  # To read the last is an error.
    assert {line.rpartition("left out ")[2] for line in messages()} == {
        f"{name}, which is no file" for name in ("2.jpg", "3", "pipe")
    }
    os.symlink("/dev/zero", f"{base}/labels")
    with pytest.raises(OSError, match="and no file"):
        storage.read(f"{base}/labels", 10)


def test_an_empty_class_keeps_its_label(make_tree: Any, messages: Any) -> None:
    base = make_tree({"a": 1, "b": 0, "c": 1})
    metadata = ImageClassificationRawMetadata(base)
    assert metadata.labels_list == ["a", "b", "c"]
    assert (metadata.num_classes, metadata.total_num_samples) == (3, 2)
    assert messages()[0] == (
        f"1 of 3 class folders in {base} have no image, but keep their labels: b"
    )


def test_wrong_trees(make_tree: Any, tmp_path: Path) -> None:
    assert refusal(tmp_path / "no" / "such") == (
        f"the folder {tmp_path}/no/such does not exist. {tmp_path} is there."
    )
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file") == f"{tmp_path}/file is a file; it must be a folder."
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "empty") == (
        f"{tmp_path}/empty has no class folders. It is empty; expected one folder a class, with"
        " the images of the class in it."
    )
    flat = make_tree({"flat": 2})
    assert refusal(flat / "flat") == (
        f"{flat}/flat has no class folders. It holds 2 files (0.jpg, 1.jpg); expected one folder a"
        " class, with the images of the class in it."
    )
    (tmp_path / "empty" / "train.tfrecord").write_text("")
    assert refusal(tmp_path / "empty") == (
        f"{tmp_path}/empty has no class folders. It has TFRecord files: use"
        " mox.ImageClassificationTFRecordMetadata for them."
    )
    without = make_tree({"a": 0, "b": 0}, "without")
    assert refusal(without) == (
        f"none of the 2 folders of {without} has an image: a, b. Expected"
        f" {without}/a/<image>.jpg and so on."
    )


def test_redirect_dir_is_read_instead(make_tree: Any) -> None:
    base = make_tree({"a": 1, "b": 2})
    assert ImageClassificationRawMetadata("/nowhere", redirect_dir=base).total_num_samples == 3
