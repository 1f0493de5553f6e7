"""The programs in examples/oneflow, as their users run them."""

from __future__ import annotations

import gzip
import os
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import warm

from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files

EXAMPLES = Path(__file__).parents[2] / "examples" / "oneflow"


def _run(folder: Path, program: str, *flags: str) -> list[str]:
    done = warm.run(
        [sys.executable, "-m", "moxing", "run", str(EXAMPLES / program), *flags],
        cwd=folder, capture_output=True, text=True, timeout=240, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _write_idx(folder: Path, part: str, count: int, packed: bool) -> None:
    """Ten classes that differ in where a bright square is."""
    random = np.random.default_rng(count)
    labels = random.integers(0, 10, count).astype(np.uint8)
    images = random.integers(0, 60, (count, 28, 28)).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(int(label), 4)
        image[2 + row * 9 : 8 + row * 9, 1 + column * 7 : 6 + column * 7] = 250
    for kind, values in (("images-idx3", images), ("labels-idx1", labels)):
        head = struct.pack(">BBBB", 0, 0, 8, values.ndim) + struct.pack(
            f">{values.ndim}I", *values.shape
        )
        content, name = head + values.tobytes(), f"{part}-{kind}-ubyte"
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


@pytest.mark.slow
def test_lenet_learns_saves_and_goes_on_on_two_devices(tmp_path: Path) -> None:
    _write_idx(tmp_path, "train", 1200, packed=True)
    _write_idx(tmp_path, "t10k", 200, packed=False)

    first = _run(tmp_path, "lenet_mnist.py", "--data", ".", "--batch", "50", "--epochs", "2")
    more = _run(tmp_path, "lenet_mnist.py", "--data", ".", "--batch", "50", "--gpus", "2")

    losses, accuracies = [], []
    for number, line in enumerate([*first, *more]):
        found = re.fullmatch(rf"epoch {number % 2}: loss (\d\.\d+), accuracy ([01]\.\d+)", line)
        assert found is not None, line
        losses.append(float(found[1]))
        accuracies.append(float(found[2]))
    assert losses[2] < losses[1] < losses[0]
    assert accuracies[2] > 0.95
    assert len(list((tmp_path / "lenet_model").glob("snapshot_*/snapshot_done"))) == 3


def _write_records(folder: Path) -> None:
    """Two classes of images: bright above, and bright below."""
    folder.mkdir()
    random = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        encoded = tf.image.encode_jpeg(pixels)
        for part in range(2):
            with files.Writer(str(folder / f"part-{part}")) as writer:
                for number in range(16):
                    image = random.integers(0, 90, (40 + number, 50, 3)).astype(np.uint8)
                    label = number % 2
                    half = slice(0, 20) if label else slice(20, None)
                    image[half] += 150
                    record = OFRecord()
                    content = session.run(encoded, {pixels: image})
                    record.feature["encoded"].bytes_list.value.append(content)
                    record.feature["class/label"].int32_list.value.append(label)
                    writer.write(record)


@pytest.mark.slow
def test_a_residual_network_learns_on_two_devices_and_is_evaluated_from_its_checkpoint(
    tmp_path: Path,
) -> None:
    _write_records(tmp_path / "of")
    common = ("--train", "of", "--parts", "2", "--classes", "2", "--size", "32")

    lines = _run(
        tmp_path, "resnet_ofrecord.py", *common, "--iterations", "30", "-g", "2", "--save", "saved"
    )
    again = _run(tmp_path, "resnet_ofrecord.py", *common, "--iterations", "0", "--load", "saved")

    assert [line.split()[:2] for line in lines[:3]] == [
        ["10", "loss"], ["20", "loss"], ["30", "loss"],
    ]  # fmt: skip
    assert float(lines[2].split()[2]) < float(lines[0].split()[2])
    assert lines[3] == again[0] == "accuracy 1.000 of 64 images"
