"""Trees and files elsewhere: in an object store, in a cache, read many at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data.feed import Feed
from moxing.errors import MoxError
from moxing.framework.file import publish
from moxing.tensorflow.datasets import (
    AsyncRawGenerator,
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
    ImageClassificationTFRecordDataset,
    ImageClassificationTFRecordMetadata,
    dataset_utils,
    get_dataset,
    split_image_classification_dataset,
)
from moxing.tensorflow.datasets.folders.convert import to_tfrecord


@pytest.fixture
def names(read: Any) -> Callable[..., list[str]]:
    """`names(metadata, **options)`: what a reader of one epoch reads, in order."""

    def run(metadata: Any, start: int = 0, **options: Any) -> list[str]:
        reader: Any = (
            ImageClassificationRawDataset
            if isinstance(metadata, ImageClassificationRawMetadata)
            else ImageClassificationTFRecordDataset
        )
        rows = read(
            lambda: reader(metadata, num_epochs=1, **options),
            ["image_name", "image"],
            Feed(seed=2, start=start),
        )
        assert all(row[1].ndim == 3 for row in rows)
        return [row[0].decode() for row in rows]

    return run


def test_many_files_at_a_time_change_nothing(make_tree: Any, names: Any) -> None:
    metadata = ImageClassificationRawMetadata(make_tree({"a": 3, "b": 3}))
    wanted = names(metadata)
    for kwargs in (None, {"num_readers": 2}):
        found = names(metadata, reader_class=AsyncRawGenerator, reader_kwargs=kwargs)
        assert found == wanted
    assert names(metadata, start=2, reader_class=AsyncRawGenerator) == wanted[2:]


def test_bad_files_are_named_and_left_out_then_too(make_tree: Any, names: Any) -> None:
    base = make_tree({"a": 3, "b": 3})
    metadata = ImageClassificationRawMetadata(base)
    (base / "a" / "1.jpg").unlink()
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{base}/a/1.jpg can't be read: No"):
        names(metadata, reader_class=AsyncRawGenerator)
    found = names(metadata, reader_class=AsyncRawGenerator, skip_bad=True)
    assert len(found) == 5
    assert names(metadata, start=2, reader_class=AsyncRawGenerator, skip_bad=True) == found[2:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"reader_class": dict},
            "ImageClassificationRawDataset: reader_class=<class 'dict'>; it must be"
            " mox.AsyncRawGenerator, or None.",
        ),
        (
            {"reader_class": AsyncRawGenerator, "reader_kwargs": {"num_reader": 3}},
            "ImageClassificationRawDataset: AsyncRawGenerator has no option 'num_reader'. Did you"
            " mean 'num_readers'? Its options in reader_kwargs: num_readers.",
        ),
    ],
)
def test_other_readers_are_refused(make_tree: Any, options: dict[str, Any], message: str) -> None:
    metadata = ImageClassificationRawMetadata(make_tree({"a": 1}))
    with pytest.raises(MoxError) as caught:
        ImageClassificationRawDataset(metadata, **options)
    assert str(caught.value) == message


def test_a_tree_in_a_store(make_tree: Any, store: Path, names: Any) -> None:
    base = make_tree({"a": 3, "b": 2})
    (base / "labels.txt").write_text("0: b\n1: a\n")
    shutil.copytree(base, store / "bucket" / "tree")
    metadata = ImageClassificationRawMetadata("s3://bucket/tree")
    assert metadata.labels_list == ["b", "a"]
    assert names(metadata) == names(ImageClassificationRawMetadata(base))
    (store / "bucket" / "tree" / "a" / "0.jpg").write_bytes(b"text")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        names(metadata)
    assert "s3://bucket/tree/a/0.jpg is not an image: it begins with b'text'." in str(caught.value)


def test_a_tree_in_a_cache(
    make_tree: Any, store: Path, names: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = make_tree({"a": 3, "b": 2})
    shutil.copytree(base, store / "bucket" / "tree")
    metadata = ImageClassificationRawMetadata("s3://bucket/tree")
    monkeypatch.setenv("DLS_LOCAL_CACHE_PATH", str(tmp_path / "cache"))
    wanted = names(ImageClassificationRawMetadata(base))
    assert names(metadata, cache_dir="ENV", remove_cache_on_finish=False) == wanted
    shutil.rmtree(store / "bucket")
    # Nothing but the copy is left now.
    assert names(metadata, cache_dir=tmp_path / "cache", remove_cache_on_finish=False) == wanted
    monkeypatch.delenv("DLS_LOCAL_CACHE_PATH")
    with pytest.raises(MoxError) as caught:
        names(metadata, cache_dir="ENV")
    assert str(caught.value) == (
        "cache_dir='ENV' means the folder that the environment variable DLS_LOCAL_CACHE_PATH names,"
        " but it is not set. Set it, or pass a folder."
    )


def test_records_in_a_store_are_copied(
    make_tree: Any, store: Path, names: Any, tmp_path: Path, messages: Any
) -> None:
    to_tfrecord(make_tree({"a": 3, "b": 2}), tmp_path / "records", parts=2)
    shutil.copytree(tmp_path / "records", store / "bucket" / "records")
    local = ImageClassificationTFRecordMetadata(tmp_path / "records", "*.tfrecord")
    remote = ImageClassificationTFRecordMetadata("s3://bucket/records", "*.tfrecord")
    assert remote.total_num_samples == 5
    assert remote.labels_list == ["a", "b"]
    wanted = names(local)
    assert names(remote) == wanted
    assert names(local, cache_dir=tmp_path / "cache", remove_cache_on_finish=False) == wanted
    copies = [path.name for path in (tmp_path / "cache").rglob("*.tfrecord")]
    assert sorted(copies) == sorted(path.name for path in (tmp_path / "records").glob("*.tfr*"))
    assert any(line.startswith("Copying s3://bucket/records to ") for line in messages())


def test_a_split_in_a_store(make_tree: Any, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = make_tree({"a": 4})
    counts = split_image_classification_dataset({"train": 0.75, "eval": 0.25}, base, "s3://bucket")
    assert counts == {"train": 3, "eval": 1}
    assert len(list((store / "bucket" / "train" / "a").glob("*.jpg"))) == 3
    assert ImageClassificationRawMetadata("s3://bucket/eval").total_num_samples == 1

    with monkeypatch.context() as patch:
        patch.setattr(publish, "_undo", lambda *_: None)
        patch.setattr(dataset_utils, "copy_files", lambda _: (_ for _ in ()).throw(OSError("gone")))
        with pytest.raises(OSError, match="gone"):
            split_image_classification_dataset("part:1", base, Path("s3://bucket"))
    with pytest.raises(MoxError, match="s3://bucket/part is not complete: it is being written"):
        ImageClassificationRawMetadata("s3://bucket/part")


def test_a_cache_is_on_this_machine(make_tree: Any, names: Any) -> None:
    metadata = ImageClassificationRawMetadata(make_tree({"a": 1}))
    with pytest.raises(MoxError) as caught:
        names(metadata, cache_dir="s3://bucket/cache")
    assert str(caught.value) == (
        "cache_dir='s3://bucket/cache': copies are kept on this machine. Pass a local folder."
    )


def test_mnist_in_a_store(store: Path, read: Any) -> None:
    for kind, shape in (("images-idx3", (3, 28, 28)), ("labels-idx1", (3,))):
        head = bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape)
        content = head + bytes(range(3)) * (np.prod(shape) // 3)
        (store / "bucket" / f"t10k-{kind}-ubyte").write_bytes(content)
    folder = Path("s3://bucket")
    rows = read(lambda: get_dataset("mnist", "test", folder, num_epochs=1), ["label"])
    assert sorted(int(label) for (label,) in rows) == [0, 1, 2]
