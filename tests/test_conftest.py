"""The shared fixtures do what tests rely on."""

from __future__ import annotations

import gzip
import random
import socket
from pathlib import Path

import numpy as np
import pytest


def test_only_loopback_can_be_reached() -> None:
    with socket.socket() as outside, pytest.raises(OSError, match="tests have no network"):
        outside.connect(("192.0.2.1", 80))
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())


def test_data_dir_holds_digits_and_photographs(data_dir: Path) -> None:
    for split, kinds in {"train": (3, 1), "t10k": (3, 1)}.items():
        for kind, rank in zip(("images", "labels"), kinds, strict=True):
            file = data_dir / "mnist" / f"{split}-{kind}-idx{rank}-ubyte.gz"
            assert gzip.decompress(file.read_bytes())[:4] == bytes([0, 0, 8, rank])
    for split in ("train", "eval"):
        classes = sorted(path.name for path in (data_dir / "flowers" / split).iterdir())
        assert classes == ["daisy", "dandelion", "roses", "sunflowers", "tulips"]
        for photograph in (data_dir / "flowers" / split).glob("*/*.jpg"):
            assert photograph.read_bytes()[:3] == b"\xff\xd8\xff"


def test_every_test_starts_from_one_seed() -> None:
    assert (random.random(), np.random.rand()) == (
        random.Random(0).random(),
        np.random.RandomState(0).rand(),
    )
