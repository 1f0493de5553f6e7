"""Reads MNIST from its four original idx files, which may be gzipped, without conversion."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.framework import idx
from moxing.tensorflow.datasets import arguments, packed, storage, stream
from moxing.tensorflow.datasets.decoding.problems import Problems
from moxing.tensorflow.datasets.stream import Samples, Settings, Stage

_STEMS = {"train": "train", "test": "t10k"}
_KINDS = (("images-idx3-ubyte", idx.IMAGES), ("labels-idx1-ubyte", idx.LABELS))


def find(folder: str, split: str) -> tuple[str, str] | None:
    """Returns the paths of the images and labels of a split ('train' or 'test'), or None."""
    present = {name for name, is_folder in storage.entries(folder) if not is_folder}
    found: list[str] = []
    for kind, _ in _KINDS:
        name = f"{_STEMS[split]}-{kind}"
        # Some tools decompress the file to train-images.idx3-ubyte.
        known = (f"{name}.gz", name, name.replace("-idx", ".idx"))
        found += [os.path.join(folder, option) for option in known if option in present][:1]
    return (found[0], found[1]) if len(found) == len(_KINDS) else None


class DigitsDataset:
    """Reads digits and their labels. Create it in `input_fn`, because `get` makes operations.

    Args:
        files: the paths of the images and of the labels.
        settings: how to read.

    Raises:
        MoxError: a file can't be read or is damaged, or the two files do not match.
    """

    def __init__(self, files: tuple[str, str], settings: Settings) -> None:
        self._files, self._settings = files, settings
        self._images, self._labels = (
            _read(path, magic) for path, (_, magic) in zip(files, _KINDS, strict=True)
        )
        if len(self._images) != len(self._labels) or not len(self._labels):
            raise MoxValueError(
                f"{files[0]} has {len(self._images)} images and {files[1]} {len(self._labels)}"
                " labels: they must be as many, and at least one. Download or copy them again."
            )
        self._tensors: dict[str, tf.Tensor] = {}

    def get(self, items: Sequence[str]) -> list[tf.Tensor]:
        """Returns the tensors of the next digit, or batch of digits, in the order of `items`.

        Args:
            items: names from image (uint8 of shape [28, 28, 1]) and label (an int64 scalar).
        """
        if not self._tensors:
            count = len(self._labels)
            problems = Problems(lambda number: f"image {number} of {self._files[0]}", lambda _: "")
            stage = Stage(Samples(count, self._connect, problems), self._settings)
            names = ("image", "label")
            self._tensors = dict(zip(names, stream.open_stream(stage), strict=True))
        wanted = arguments.items("get_dataset", items, list(self._tensors))
        return [self._tensors[name] for name in wanted]

    def _connect(self) -> stream.Read:
        # One more digit stands for the marks at the ends of epochs.
        shape = (*self._images.shape[1:], 1)
        blank = np.zeros((1, *self._images.shape[1:]), np.uint8)
        images = packed.octets(np.concatenate([self._images, blank]))
        labels = tf.constant(np.append(self._labels, 0).astype(np.int64))
        images = tf.reshape(images, [-1, *shape])

        def read(
            number: tf.Tensor, seed: tf.Tensor, call: stream.Call
        ) -> tuple[tf.Tensor, tf.Tensor]:
            del seed, call
            return tf.ensure_shape(images[number], shape), labels[number]

        return read


def _read(path: str, magic: int) -> np.ndarray:
    try:
        return idx.parse(storage.read(path), magic, path)
    except OSError as error:
        raise MoxRuntimeError(f"{path} can't be read: {storage.reason(error)}.") from error
