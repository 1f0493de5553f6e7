"""idx files: whole, unzipped, of another kind, and damaged in every way."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moxing.errors import MoxError, MoxRuntimeError, MoxValueError
from moxing.framework import idx

LABELS = b"\0\0\x08\x01" + b"\0\0\0\x03" + bytes([7, 2, 1])
IMAGES = b"\0\0\x08\x03" + b"\0\0\0\x02" + b"\0\0\0\x02" + b"\0\0\0\x01" + bytes([0, 1, 2, 255])


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda data: gzip.compress(data[:9])])
def test_reads_zipped_and_unzipped_files(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "file"
    packed = pack(LABELS)  # type: ignore[operator]
    if len(gzip.compress(LABELS[:9])) == len(packed):
        packed += gzip.compress(LABELS[9:])  # Two gzip files in one are one file.
    path.write_bytes(packed)

    labels = idx.read(path, idx.LABELS)

    assert labels.tolist() == [7, 2, 1]
    assert labels.dtype == np.uint8
    labels[0] = 0  # An array of one's own.


def test_reads_images_row_by_row(tmp_path: Path) -> None:
    images = idx.parse(IMAGES, idx.IMAGES, "images")

    assert images.tolist() == [[[0], [1]], [[2], [255]]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "f is not an idx file of labels: it starts with nothing, not with 00 00 08 01."),
        (IMAGES, "f is not an idx file of labels: it starts with 00 00 08 03, not with"),
        (b"<!DOCTYPE html>", "f is not an idx file of labels: it starts with 3c 21 44 4f, not"),
        (LABELS[:6], "f is damaged: its header ends after 6 of 8 bytes."),
        (LABELS[:-1], "f is damaged: it holds 10 bytes, its header promises 11."),
        (LABELS + b"x", "f is damaged: it holds 12 bytes, its header promises 11."),
        (
            gzip.compress(LABELS, mtime=0)[:-4],
            "f is damaged: it ends in the middle of its gzip data.",
        ),
        (b"\x1f\x8bjunk", "f is damaged: it cannot be unzipped ("),
    ],
)
def test_bad_files_are_named(data: bytes, message: str) -> None:
    with pytest.raises(MoxError) as raised:
        idx.parse(data, idx.LABELS, "f")

    assert str(raised.value).startswith(message)
    assert str(raised.value).endswith("Download or copy it again.")


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(MoxRuntimeError) as raised:
        idx.read(tmp_path / "none", idx.LABELS)

    assert str(raised.value) == f"cannot read {tmp_path}/none: No such file or directory."


@given(st.binary(max_size=40), st.booleans(), st.integers(0, 40))
def test_any_bytes_are_read_or_refused(data: bytes, zipped: bool, cut: int) -> None:
    data = LABELS[: cut % 9] + data
    data = gzip.compress(data)[: cut + 10] if zipped else data
    said, labels = "f is read", np.zeros(0)
    try:
        labels = idx.parse(data, idx.LABELS, "f")
    except (MoxRuntimeError, MoxValueError) as error:
        said = str(error)
    assert said.startswith("f is ")
    assert labels.ndim == 1
