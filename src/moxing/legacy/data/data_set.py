"""Images and labels in batches, epoch after epoch: the `DataSet` of MNIST's `input_data`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from moxing.errors import MoxTypeError, MoxValueError

_CLASSES = 10
_FAKE_EXAMPLES = 10000
_SCALE = np.float32(1.0 / 255.0)


class DataSet:
    """Images and labels in batches, epoch after epoch.

    `next_batch` shuffles at the start of each epoch. A batch that crosses the end of an epoch holds
    the last samples of this epoch and the first samples of the next epoch.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = np.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        """Makes a data set of arrays.

        Args:
            images: uint8 of the shape [number, rows, columns, depth].
            labels: one label for each image.
            fake_data: whether samples are 784 ones each, without a look at `images` and `labels`.
            one_hot: whether fake labels are one-hot.
            dtype: float32 scales images to [0, 1]; uint8 leaves them in [0, 255].
            reshape: [number, rows * columns] instead of [number, rows, columns, 1].
            seed: the seed of NumPy's global generator, which shuffles; None: the default graph's
                seed; if the graph has no seed, the generator is not seeded.

        Raises:
            MoxTypeError: another dtype.
            MoxValueError: the shapes do not fit.
        """
        self._scaled = image_type(dtype) == np.float32
        seed = _graph_seed() if seed is None else seed
        if seed is not None:
            np.random.seed(seed)
        self._fake, self._one_hot = fake_data, one_hot
        if fake_data:
            images = np.zeros((0, 28, 28, 1), np.uint8)
            labels = np.zeros((0,), np.uint8)
        self._bytes, self._labels = _check(np.asarray(images), np.asarray(labels), reshape)
        self._num_examples = _FAKE_EXAMPLES if fake_data else len(self._labels)
        self._floats: np.ndarray | None = None
        self._order: np.ndarray | None = None
        self._epochs_completed = 0
        self._index = 0

    @property
    def images(self) -> np.ndarray:
        """Every image, in the order of the file."""
        if not self._scaled or self._bytes.dtype != np.uint8:
            return self._bytes
        if self._floats is None:
            self._floats = _scale(self._bytes)
        return self._floats

    @property
    def labels(self) -> np.ndarray:
        """Every label, in the order of `images`."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """Number of images."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """Number of times that `next_batch` has gone through all images."""
        return self._epochs_completed

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> Any:
        """The next images and labels.

        Args:
            batch_size: the number of samples.
            fake_data: whether to return samples of 784 ones.
            shuffle: whether an epoch that this call starts is shuffled.

        Returns:
            Images of the data set's dtype and shape, and their labels.
        """
        if fake_data or self._fake:
            label: Any = [1] + [0] * (_CLASSES - 1) if self._one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        parts = self._take(batch_size, shuffle)
        images = [self._pick_images(part) for part in parts]
        labels = [self._labels[part] for part in parts]
        if len(parts) == 1:
            return images[0], labels[0]
        return np.concatenate(images), np.concatenate(labels)

    def _take(self, count: int, shuffle: bool) -> list[Any]:
        """Advances by `count` samples; returns their indices or slices, one part for each epoch."""
        if count < 0 or self._num_examples == 0:
            raise MoxValueError(f"cannot take a batch of {count} from {self._num_examples} images.")
        if self._epochs_completed == 0 and self._index == 0 and shuffle:
            self._shuffle()
        parts = []
        while self._index + count > self._num_examples:
            parts.append(self._part(self._index, self._num_examples))
            count -= self._num_examples - self._index
            self._epochs_completed += 1
            self._index = 0
            if shuffle:
                self._shuffle()
        parts.append(self._part(self._index, self._index + count))
        self._index += count
        return parts

    def _part(self, start: int, end: int) -> Any:
        return slice(start, end) if self._order is None else self._order[start:end]

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        # Each epoch shuffles the order of the previous epoch.
        self._order = order if self._order is None else self._order[order]

    def _pick_images(self, part: Any) -> np.ndarray:
        if self._floats is not None:
            return self._floats[part]
        picked = self._bytes[part]
        return _scale(picked) if self._scaled and picked.dtype == np.uint8 else picked


def image_type(dtype: Any) -> np.dtype[Any]:
    """The dtype of images, given as a NumPy or TensorFlow type.

    Raises:
        MoxTypeError: neither uint8 nor float32.
    """
    kind = np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    if kind not in (np.uint8, np.float32):
        raise MoxTypeError(f"dtype must be uint8 or float32, not {dtype!r}.")
    return kind


def _check(images: np.ndarray, labels: np.ndarray, reshape: bool) -> tuple[np.ndarray, np.ndarray]:
    if len(images) != len(labels):
        raise MoxValueError(f"there are {len(images)} images and {len(labels)} labels.")
    if not reshape:
        return images, labels
    if images.ndim != 4 or images.shape[3] != 1:
        raise MoxValueError(
            "reshape=True takes images of the shape [number, rows, columns, 1], not"
            f" {images.shape}."
        )
    return images.reshape(images.shape[0], images.shape[1] * images.shape[2]), labels


def _scale(images: np.ndarray) -> np.ndarray:
    return np.multiply(images, _SCALE, dtype=np.float32)


def _graph_seed() -> int | None:
    """The seed of TensorFlow's default graph, if TensorFlow is in use and has one."""
    tensorflow = sys.modules.get("tensorflow.compat.v1")
    return tensorflow.get_default_graph().seed if tensorflow else None
