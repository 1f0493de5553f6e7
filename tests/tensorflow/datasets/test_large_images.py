"""Images of 20,000 x 20,000 pixels: read at a smaller scale, or refused with name and size."""

from __future__ import annotations

import resource
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import ImageClassificationRawDataset, ImageClassificationRawMetadata
from moxing.tensorflow.datasets.decoding import decode
from moxing.tensorflow.preprocessing import get_data_augmentation_fn

SIDE = 20_000


def _jpeg(encode: Callable[..., bytes]) -> bytes:
    """A gray image without detail: six bits for each block of 64 pixels."""
    head = bytearray(encode(np.full([8, 8, 1], 128, np.uint8)))
    struct.pack_into(">HH", head, head.index(b"\xff\xc0") + 5, SIDE, SIDE)
    scan = head.index(b"\xff\xda")
    (length,) = struct.unpack_from(">H", head, scan + 2)
    blocks = (SIDE // 8) ** 2
    return bytes(head[: scan + 2 + length]) + b"\x28\xa2\x8a" * (blocks // 4) + b"\xff\xd9"


def _png() -> bytes:
    """A black image of one bit a pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    row = bytes(1 + SIDE // 8)
    packer = zlib.compressobj(1)
    data = b"".join(packer.compress(row) for _ in range(SIDE)) + packer.flush()
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


@pytest.fixture
def read_one(tmp_path: Path, read: Any) -> Callable[..., Any]:
    """`read_one(name, content, **arguments)`: the image that a reader makes of the file."""

    def call(name: str, content: bytes, **arguments: Any) -> Any:
        path = tmp_path / "tree" / "a" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        metadata = ImageClassificationRawMetadata(tmp_path / "tree")

        def make() -> Any:
            return ImageClassificationRawDataset(metadata, num_epochs=1, **arguments)

        [[image]] = read(make, ["image"])
        return image

    return call


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
def test_an_augmented_jpeg_is_decoded_at_a_smaller_scale(
    mode: str, read_one: Callable[..., Any], encode: Callable[..., bytes]
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    augment = get_data_augmentation_fn("vgg_16", mode, 64, 64)
    image = read_one("large.jpg", _jpeg(encode), augmentation_fn=augment)
    np.testing.assert_array_equal(image, np.full([64, 64, 3], 128, np.float32))
    # At full scale the crop alone is 0.9 GB, and 3.7 GB as floats.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_more_than_is_decoded_whole_is_an_error_with_name_and_size(
    kind: str, read_one: Callable[..., Any], encode: Callable[..., bytes], tmp_path: Path
) -> None:
    content = _jpeg(encode) if kind == "JPEG" else _png()
    with pytest.raises(tf.errors.OpError) as caught:
        read_one("large.img.jpg", content, image_size=8)
    assert (
        f"{tmp_path}/tree/a/large.img.jpg is a {kind} image of 20,000 x 20,000 pixels, more than"
        " the 268,435,456 that are decoded whole; make it smaller. Mend or delete it, or pass"
        " skip_bad=True to leave out samples that can't be read."
    ) in str(caught.value)


def test_scaled_crops_show_what_the_whole_shows(
    encode: Callable[..., bytes],
    smooth: Callable[..., np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pixels = smooth(600, 800, 30)
    augment = get_data_augmentation_fn("vgg_16", "TRAIN", 16, 16)
    with tf.Graph().as_default(), tf.Session() as session:
        content, seed = tf.constant(encode(pixels)), tf.constant([1, 2], tf.int64)
        plain = decode.decode_and_augment(content, augment, seed)
        monkeypatch.setattr(decode, "_LARGE", 1)
        monkeypatch.setattr(decode, "_LARGE_BYTES", 1)
        scaled = decode.decode_and_augment(content, augment, seed)
        one, other = session.run([plain, scaled])
    assert (one != other).any()
    np.testing.assert_allclose(one, other, atol=4)
