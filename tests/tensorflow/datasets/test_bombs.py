"""Small files that stand for gigabytes are refused, or read in pieces, before memory is taken."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.framework import classes
from moxing.tensorflow.datasets import labels
from moxing.tensorflow.datasets.decoding import animation, bitmap, decode, diagnose
from moxing.tensorflow.datasets.tfrecords import compressed


def gif(columns: int, rows: int, frames: int, canvas: tuple[int, int] | None = None) -> bytes:
    """Frames without pixels, with an extension before each."""
    head = b"GIF89a" + struct.pack("<HHBBB", *(canvas or (columns, rows)), 0x80, 0, 0) + bytes(6)
    delay = b"!\xf9\x04" + bytes(4) + b"\0"
    frame = b"," + struct.pack("<HHHHB", 0, 0, columns, rows, 0x81) + bytes(12) + b"\x02\x01\x44\0"
    return head + (delay + frame) * frames + b";"


def bmp(columns: int, rows: int, depth: int) -> bytes:
    stride = (columns * depth + 31) // 32 * 4
    header = struct.pack("<IiiHHIIiiII", 40, columns, rows, 1, depth, 0, 0, 0, 0, 2, 0)
    palette = b"\0\0\0\0\x01\x02\x03\0"
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, 62) + header + palette + b"\xaa" * (stride * rows)


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (gif(40, 30, 1), 1200),
        (gif(40, 30, 7), 8400),
        (gif(40, 30, 7, canvas=(50, 10)), 10500),  # The larger of each.
        (gif(65535, 65535, 1000), 65535 * 65535 * 1000),
        (gif(40, 30, 7)[:-5], 8400),  # Cut off.
        (b"GIF89a", 0),
        (b"GIF89a" + b"\xff" * 100, 65535 * 65535),
    ],
)
def test_the_frames_of_a_gif_are_counted(content: bytes, count: int) -> None:
    assert animation.pixels(content) == count


@pytest.mark.parametrize("content", [gif(20000, 20000, 1), gif(4000, 4000, 50)])
def test_a_gif_of_too_many_pixels_is_refused_with_its_size(content: bytes) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        image = decode.decode(tf.constant(content))
        with pytest.raises(tf.errors.InvalidArgumentError, match="too many pixels"):
            session.run(image)
    assert " pixels in all frames, more than the 268,435,456 that " in diagnose.of_content(content)


def test_an_animation_that_is_not_too_large_is_read(encode_gif: Callable[..., bytes]) -> None:
    content = encode_gif()
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(decode.decode(tf.constant(content))).shape == (5, 4, 3)


@pytest.fixture
def encode_gif() -> Callable[..., bytes]:
    def make() -> bytes:
        import io

        from PIL import Image

        pictures = [Image.fromarray(np.full((5, 4), level, np.uint8)) for level in (0, 100, 200)]
        stream = io.BytesIO()
        pictures[0].save(stream, "GIF", save_all=True, append_images=pictures[1:])
        assert animation.pixels(stream.getvalue()) == 60
        return stream.getvalue()

    return make


def test_a_bitmap_of_one_bit_a_pixel_takes_little_beside_its_result() -> None:
    content = bmp(2048, 2048, 1)
    tracemalloc.start()
    image = bitmap.decode(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < image.nbytes + 80_000_000  # Of all pixels at once it would be 350 MB more.
    np.testing.assert_array_equal(image[0, :2], [[3, 2, 1], [0, 0, 0]])
    assert (image == image[0]).all()


def test_a_bitmap_of_too_many_pixels_is_refused() -> None:
    with pytest.raises(ValueError, match="has a size of 16385 x 16385 pixels"):
        bitmap.decode(
            bmp(32, 1, 1).replace(struct.pack("<ii", 32, 1), struct.pack("<ii", *[16385] * 2))
        )


def test_compressed_records_are_unpacked_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    path.write_bytes(data * 2)  # Two members, each of 64 MiB in as many kilobytes.
    sizes = [len(piece) for piece in compressed._content(str(path))]
    assert sum(sizes) == 128 << 20
    assert max(sizes) <= 1 << 20


def test_a_file_of_labels_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("0: a\n1: b\n")
    monkeypatch.setattr(labels, "LARGEST", 10)
    assert labels.read(str(path)) == ["a", "b"]
    path.write_text("0: a\n1: bb\n")
    with pytest.raises(MoxValueError, match=r"labels.txt has more than"):
        labels.read(str(path))
    with pytest.raises(MoxValueError, match="is no label"):
        classes.parse("9" * 5000 + ": a", "labels.txt")


@pytest.mark.parametrize("name", ["labels.txt", "labels.txt.tmp"])
def test_labels_go_through_no_link_of_a_shared_folder(tmp_path: Path, name: str) -> None:
    """What another user's link leads to stays as it is."""
    own = tmp_path / "own"
    own.write_text("precious")
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / name).symlink_to(own)
    labels.write(["a", "b"], shared / "labels.txt")
    assert own.read_text() == "precious"
    assert labels.read(str(shared / "labels.txt")) == ["a", "b"]
    assert not (shared / "labels.txt").is_symlink()
