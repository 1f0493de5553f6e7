"""Writes scikit-learn's 1,797 handwritten digits as 28x28 images in MNIST's file format.

    python make_data.py FOLDER

FOLDER then holds the four files of MNIST, so a program written for one reads the other. Source of
the images: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI, 1998; they
come with scikit-learn, so nothing is downloaded.
"""

from __future__ import annotations

import gzip
import struct
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

TEST_IMAGES = 300
IDX_UINT8 = 0x08  # the element type in the third byte of an idx file


def enlarge(images: np.ndarray) -> np.ndarray:
    """8x8 images of 0..16 as 28x28 ones of 0..255: bilinear to 20x20, then MNIST's margin of 4."""
    points = np.linspace(0, 7, 20)
    weights = np.array([np.interp(points, np.arange(8), row) for row in np.eye(8)])
    large = weights.T @ images @ weights * (255 / 16)
    return np.pad(np.rint(large).astype(np.uint8), ((0, 0), (4, 4), (4, 4)))


def load() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Images [n, 28, 28] and labels [n] of the splits `train` (1,497) and `t10k` (300)."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.images))
    images, labels = enlarge(digits.images[order]), digits.target[order].astype(np.uint8)
    return {
        "train": (images[TEST_IMAGES:], labels[TEST_IMAGES:]),
        "t10k": (images[:TEST_IMAGES], labels[:TEST_IMAGES]),
    }


def write_split(folder: Path, split: str, images: np.ndarray, labels: np.ndarray) -> None:
    """Writes `<split>-images-idx3-ubyte.gz` and `<split>-labels-idx1-ubyte.gz`."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, array in (("images", images), ("labels", labels)):
        header = struct.pack(f">HBB{array.ndim}I", 0, IDX_UINT8, array.ndim, *array.shape)
        path = folder / f"{split}-{kind}-idx{array.ndim}-ubyte.gz"
        path.write_bytes(gzip.compress(header + array.tobytes(), mtime=0))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    for name, (all_images, all_labels) in load().items():
        write_split(target, name, all_images, all_labels)
        print(f"{len(all_images)} images in {target}/{name}-images-idx3-ubyte.gz")
