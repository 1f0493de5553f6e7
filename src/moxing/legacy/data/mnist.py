"""`tensorflow.examples.tutorials.mnist.input_data`: MNIST from local files, in batches.

    mnist = input_data.read_data_sets("data", one_hot=True)
    images, labels = mnist.train.next_batch(100)    # [100, 784] float32, [100, 10] float64

Images stay uint8 until a batch is taken. Nothing is ever downloaded.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.framework import file, idx
from moxing.legacy.data.data_set import DataSet, image_type

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_CLASSES = 10


class Datasets(NamedTuple):
    """The three parts of MNIST."""

    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = np.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = "",
) -> Datasets:
    """Reads MNIST from a directory, on the disk or in an object store.

    Args:
        train_dir: the directory of the four files, compressed by gzip or not; a path or a URL.
        fake_data: whether to return made-up samples, without reading files.
        one_hot: labels as rows of 10 float64 instead of uint8 numbers.
        dtype: float32 (scaled to [0, 1]) or uint8.
        reshape: images as rows of 784 instead of [28, 28, 1].
        validation_size: the number of the 60,000 training images that form the validation set.
        seed: the seed of the shuffling.
        source_url: accepted and not used.

    Returns:
        Data sets `train`, `validation` and `test`.

    Raises:
        MoxRuntimeError: a file is missing or damaged, or no store is configured for a URL.
        MoxTypeError: another dtype.
        MoxValueError: a file of another kind, or a validation_size out of range.
    """
    del source_url
    options: dict[str, Any] = dict(dtype=dtype, reshape=reshape, seed=seed)
    if fake_data:
        fake = [DataSet([], [], fake_data=True, one_hot=one_hot, **options) for _ in range(3)]
        return Datasets(*fake)
    image_type(dtype)
    magics = (idx.IMAGES, idx.LABELS) * 2
    # zlib releases Python's lock while it decompresses, so threads run in parallel.
    with _nearby(train_dir) as folder, ThreadPoolExecutor(len(FILES)) as pool:
        paths = _find(folder, os.fspath(train_dir))
        arrays = list(pool.map(idx.read, paths, magics))
    for path, images, labels in zip(paths[::2], arrays[::2], arrays[1::2], strict=True):
        if len(images) != len(labels):
            raise MoxValueError(
                f"{path} holds {len(images)} images, but there are {len(labels)} labels for it."
            )
    train_images, test_images = (array[..., np.newaxis] for array in arrays[::2])
    train_labels, test_labels = (
        dense_to_one_hot(array, _CLASSES) if one_hot else array for array in arrays[1::2]
    )
    if not 0 <= validation_size <= len(train_images):
        raise MoxValueError(
            f"validation_size must be between 0 and {len(train_images)}, not {validation_size}."
        )
    return Datasets(
        train=DataSet(train_images[validation_size:], train_labels[validation_size:], **options),
        validation=DataSet(
            train_images[:validation_size], train_labels[:validation_size], **options
        ),
        test=DataSet(test_images, test_labels, **options),
    )


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """`read_data_sets` with its defaults."""
    return read_data_sets(train_dir)


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Datasets:
    """`tf.contrib.learn.datasets.load_dataset`, for "mnist" in the folder MNIST-data."""
    del size, test_with_fake_data
    if name != "mnist":
        raise MoxValueError(f"load_dataset({name!r}): only 'mnist' has a stand-in.")
    return load_mnist()


def extract_images(f: Any) -> np.ndarray:
    """The images of an idx file, given as a path or an open binary file: [number, 28, 28, 1]."""
    return _extract(f, idx.IMAGES)[..., np.newaxis]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = _CLASSES) -> np.ndarray:
    """The labels of an idx file, given as a path or an open binary file."""
    labels = _extract(f, idx.LABELS)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
    """Rows of `num_classes` float64 that are 1 at the label and 0 elsewhere."""
    if labels_dense.size and int(labels_dense.max()) >= num_classes:
        raise MoxValueError(f"label {labels_dense.max()} is not below {num_classes} classes.")
    rows = np.zeros((labels_dense.size, num_classes))
    rows[np.arange(labels_dense.size), labels_dense.ravel()] = 1
    return rows


def _extract(file: Any, magic: int) -> np.ndarray:
    if isinstance(file, (str, os.PathLike)):
        return idx.read(file, magic)
    return idx.parse(file.read(), magic, str(getattr(file, "name", file)))


@contextmanager
def _nearby(directory: str) -> Iterator[str]:
    """Yields the directory; for a directory in a store, a local copy of its MNIST files."""
    if not file.is_remote(directory):
        yield os.fspath(directory)
        return
    wanted = {candidate for name in FILES for candidate in _variants(name)}
    with tempfile.TemporaryDirectory(prefix="mox-mnist-") as folder:
        with suppress(FileNotFoundError):
            names = sorted(wanted.intersection(file.list_directory(directory)))
            file.copy_parallel(directory, folder, file_list=names, is_processing=False)
        yield folder


def _find(folder: str, shown: str) -> list[str]:
    """The four files, gzipped or not, in a folder that the user knows as `shown`."""
    found = [_variant(folder, name) for name in FILES]
    missing = [name for name, path in zip(FILES, found, strict=True) if path is None]
    if missing:
        which = "" if len(missing) == len(FILES) else f"; {', '.join(missing)} missing"
        raise MoxRuntimeError(
            f"MNIST is not in {shown!r}{_why_missing(shown)}{which}. It is the four files"
            f" {', '.join(FILES)}, each with or without .gz; nothing is downloaded."
        )
    return [path for path in found if path is not None]


def _variant(folder: str, name: str) -> str | None:
    for candidate in _variants(name):
        path = os.path.join(folder, candidate)
        if os.path.isfile(path):
            return path
    return None


def _variants(name: str) -> tuple[str, ...]:
    # Some tools unzip to train-images.idx3-ubyte.
    return f"{name}.gz", name, name.replace("-idx", ".idx")


def _why_missing(folder: str) -> str:
    there = file.is_remote(folder) or os.path.isdir(folder)
    return "" if there else " (there is no such directory)"
