"""`read_data_sets`: MNIST's layout, its options, and what is said where files are missing."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np
import pytest

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.legacy.data import mnist


def test_real_files(data_dir: Path, real_data: bool) -> None:
    started = time.process_time()
    data = mnist.read_data_sets(str(data_dir / "mnist"), one_hot=True, validation_size=50)
    seconds = time.process_time() - started

    images, labels = data.train.next_batch(100)
    assert images.shape == (100, 784)
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == (0.0, 1.0)
    assert labels.shape == (100, 10)
    assert labels.dtype == np.float64
    assert (labels.sum(axis=1) == 1).all()
    assert data.validation.num_examples == 50
    if real_data:
        assert (data.train.num_examples, data.test.num_examples) == (59950, 10000)
        assert np.argmax(data.test.labels[:5], axis=1).tolist() == [7, 2, 1, 0, 4]
        assert seconds < 5


def test_options(data_dir: Path) -> None:
    data = mnist.read_data_sets(
        str(data_dir / "mnist"), dtype=np.uint8, reshape=False, source_url="http://nowhere/"
    )

    images, labels = data.validation.next_batch(7, shuffle=False)

    assert images.shape == (7, 28, 28, 1)
    assert images.dtype == labels.dtype == np.uint8
    assert labels.shape == (7,)
    assert data.validation.num_examples == 5000


def test_unzipped_files_and_both_spellings(data_dir: Path, tmp_path: Path) -> None:
    for number, name in enumerate(mnist.FILES):
        data = gzip.decompress((data_dir / "mnist" / f"{name}.gz").read_bytes())
        (tmp_path / (name if number % 2 else name.replace("-idx", ".idx"))).write_bytes(data)

    read = mnist.read_data_sets(str(tmp_path))

    zipped = mnist.read_data_sets(str(data_dir / "mnist"))
    assert (read.test.labels == zipped.test.labels).all()


def test_fake_data_needs_no_files() -> None:
    data = mnist.read_data_sets("nowhere", fake_data=True, one_hot=True)

    assert data.train.next_batch(1)[1] == [[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]]


FOUR = (
    "It is the four files train-images-idx3-ubyte, train-labels-idx1-ubyte,"
    " t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte, each with or without .gz; nothing is"
    " downloaded."
)


def test_missing_files_are_named(data_dir: Path, tmp_path: Path) -> None:
    for name in mnist.FILES[:3]:
        (tmp_path / f"{name}.gz").symlink_to(data_dir / "mnist" / f"{name}.gz")
    expected = {
        str(tmp_path): f"MNIST is not in '{tmp_path}'; t10k-labels-idx1-ubyte missing. {FOUR}",
        "nowhere": f"MNIST is not in 'nowhere' (there is no such directory). {FOUR}",
        "": f"MNIST is not in '' (there is no such directory). {FOUR}",
    }
    for folder, message in expected.items():
        with pytest.raises(MoxRuntimeError) as raised:
            mnist.read_data_sets(folder)
        assert str(raised.value) == message


def test_files_in_an_object_store(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bucket" / "other").mkdir(parents=True)
    (tmp_path / "bucket" / "mnist").symlink_to(data_dir / "mnist")
    monkeypatch.setenv("MOX_FILE_S3_ROOT", str(tmp_path))
    remote = mnist.read_data_sets("s3://bucket/mnist", seed=1, validation_size=0)
    local = mnist.read_data_sets(str(data_dir / "mnist"), seed=1, validation_size=0)
    assert remote.test.num_examples == local.test.num_examples
    assert (remote.train.images == local.train.images).all()
    for folder in ("s3://bucket/other", "s3://bucket/nowhere"):
        with pytest.raises(MoxRuntimeError) as raised:
            mnist.read_data_sets(folder)
        assert str(raised.value) == f"MNIST is not in '{folder}'. {FOUR}"
    monkeypatch.delenv("MOX_FILE_S3_ROOT")
    with pytest.raises(MoxRuntimeError, match="no S3/OBS endpoint configured"):
        mnist.read_data_sets("s3://bucket/mnist")


def test_sizes_that_do_not_fit(data_dir: Path, tmp_path: Path) -> None:
    for source, target in (("train", "train"), ("train", "t10k")):
        for kind in ("images-idx3", "labels-idx1"):
            take = source if kind.startswith("images") or target == "train" else "t10k"
            (tmp_path / f"{target}-{kind}-ubyte.gz").symlink_to(
                data_dir / "mnist" / f"{take}-{kind}-ubyte.gz"
            )

    with pytest.raises(MoxValueError, match=r"t10k-images-idx3-ubyte.gz holds \d+ images, but"):
        mnist.read_data_sets(str(tmp_path))
    with pytest.raises(MoxValueError, match=r"validation_size must be between 0 and \d+, not -1."):
        mnist.read_data_sets(str(data_dir / "mnist"), validation_size=-1)


def test_the_parts_can_be_used_alone(data_dir: Path) -> None:
    images = str(data_dir / "mnist" / "t10k-images-idx3-ubyte.gz")
    labels = str(data_dir / "mnist" / "t10k-labels-idx1-ubyte.gz")

    with open(images, "rb") as file:
        read = mnist.extract_images(file)
    with gzip.open(labels, "rb") as file:
        one_hot = mnist.extract_labels(file, one_hot=True)

    assert read.shape[1:] == (28, 28, 1)
    assert (np.argmax(one_hot, axis=1) == mnist.extract_labels(labels)).all()
    assert mnist.dense_to_one_hot(np.array([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(MoxValueError, match="label 3 is not below 3 classes."):
        mnist.dense_to_one_hot(np.array([3]), 3)
    with pytest.raises(MoxValueError, match="only 'mnist' has a stand-in"):
        mnist.load_dataset("iris")
