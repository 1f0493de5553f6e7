"""Reads the four files of MNIST as they are published, from a folder."""

import gzip
import os

import numpy as np
from tensorflow.python.keras.utils import *  # noqa: F403 - programs of that time did so

CLASSES = 10
SIDE = 28
_FILES = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}
_HEADERS = (16, 8)


def _read(path, header):
    with gzip.open(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def load(folder, split):
    """Images in [0, 1], shape [n, 28, 28, 1], and one-hot labels, shape [n, 10]."""
    images, labels = (
        _read(os.path.join(folder, name), header)
        for name, header in zip(_FILES[split], _HEADERS, strict=False)
    )
    images = images.reshape(-1, SIDE, SIDE, 1).astype("float32") / 255.0
    return images, to_categorical(labels, CLASSES)  # noqa: F405
