"""Images of every format are decoded as they are, or refused with the name of the file."""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data.feed import Feed
from moxing.errors import MoxValueError
from moxing.tensorflow.datasets import (
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
)
from moxing.tensorflow.preprocessing import get_data_augmentation_fn

# 16 x 16, four colored squares, as another program writes CMYK: with Adobe's inverted inks.
CMYK = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAGBAUGBQQGBgUGBwcGCAoQCgoJCQoUDg8MEBcUGBgXFBYWGh0lHxobIxwWFiAs"
    "ICMmJykqKRkfLTAtKDAlKCko/8AAFAgAEAAQBEMRAE0RAFkRAEsRAP/EABoAAQACAwEAAAAAAAAAAAAAAAgABwQFBgn/"
    "xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oADgRDAE0AWQBLAAA/ALgHxRRUgeZDdIzRfK5HoweDtUf/2Q=="
)
CMYK_COLORS = [[(200, 30, 40), (20, 180, 60)], [(30, 60, 190), (240, 240, 230)]]
# 6 x 4, a red frame and a blue one.
ANIMATED = base64.b64decode(
    "R0lGODdhBgAEAIEAAP8AAAAAAAAAAAAAACwAAAAABgAEAAAICwABCBxIsKDBgQEBACH5BAEAAAEALAAAAAAGAAQAgQAA"
    "/wAAAAAAAAAAAAgLAAEIHEiwoMGBAQEAOw=="
)
# 6 x 4 of (10, 200, 30), lossless.
WEBP = base64.b64decode("UklGRh4AAABXRUJQVlA4TBEAAAAvBcAAAAdQ5CrUo/+BiOh/AAA=")


@pytest.fixture
def decode(tmp_path: Path, read: Any) -> Callable[..., np.ndarray]:
    """`decode(content, name="a.jpg", **options)`: the image that the reader makes of a file."""

    def run(content: bytes, name: str = "a.jpg", **options: Any) -> np.ndarray:
        path = tmp_path / "tree" / "one" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        metadata = ImageClassificationRawMetadata(tmp_path / "tree")
        dataset = lambda: ImageClassificationRawDataset(metadata, num_epochs=1, **options)  # noqa: E731
        [[image]] = read(dataset, ["image"])
        path.unlink()
        return image

    return run


def bitmap(pixels: np.ndarray, depth: int, palette: bytes = b"", top_down: bool = False) -> bytes:
    """A BMP file; `pixels` are its bytes, rows from the top, not padded."""
    rows, columns = pixels.shape[0], pixels.shape[1] * 8 // depth
    lines = pixels if top_down else pixels[::-1]
    body = b"".join(line.tobytes() + bytes(-len(line.tobytes()) % 4) for line in lines)
    start = 54 + len(palette)
    head = struct.pack("<2sIHHI", b"BM", start + len(body), 0, 0, start)
    height = -rows if top_down else rows
    info = struct.pack("<IiiHHIIiiII", 40, columns, height, 1, depth, 0, 0, 0, 0, 0, 0)
    return head + info + palette + body


def test_cmyk_jpeg(decode: Any) -> None:
    image = decode(CMYK)
    assert image.shape == (16, 16, 3)
    np.testing.assert_allclose(image[4::8, 4::8], CMYK_COLORS, atol=2)
    augment = get_data_augmentation_fn("resnet_v1_50", "EVAL", 16, 16)
    assert decode(CMYK, augmentation_fn=augment).shape == (16, 16, 3)


def test_gray_jpeg_and_png(decode: Any, encode: Any, smooth: Any) -> None:
    gray = smooth(20, 30, 0)[:, :, :1]
    np.testing.assert_array_equal(decode(encode(gray, "png")), np.repeat(gray, 3, 2))
    np.testing.assert_allclose(decode(encode(gray)), np.repeat(gray, 3, 2), atol=6)


def test_png_with_16_bits_keeps_the_upper_8(decode: Any, encode: Any, smooth: Any) -> None:
    image = smooth(20, 30, 9)
    wide = image.astype(np.uint16) * 256 + 77
    np.testing.assert_array_equal(decode(encode(wide, "png"), "a.png"), image)


def test_png_with_alpha_keeps_the_colors(decode: Any, encode: Any, smooth: Any) -> None:
    image = smooth(20, 30, 9)
    alpha = np.full((20, 30, 1), 3, np.uint8)
    np.testing.assert_array_equal(
        decode(encode(np.concatenate([image, alpha], 2), "png"), "a.png"), image
    )
    gray = np.concatenate([image[:, :, :1], alpha], 2)
    np.testing.assert_array_equal(
        decode(encode(gray, "png"), "a.png"), np.repeat(image[:, :, :1], 3, 2)
    )


def test_the_first_frame_of_an_animation(decode: Any) -> None:
    image = decode(ANIMATED, "a.gif")
    assert image.shape == (4, 6, 3)
    assert (image == [255, 0, 0]).all()


def test_webp(decode: Any) -> None:
    image = decode(WEBP, "a.webp")
    assert image.shape == (4, 6, 3)
    assert (image == [10, 200, 30]).all()


@pytest.mark.parametrize("top_down", [False, True])
@pytest.mark.parametrize("depth", [24, 32])
def test_bmp_with_colors(decode: Any, smooth: Any, depth: int, top_down: bool) -> None:
    image = smooth(5, 7, 9)
    stored = image[:, :, ::-1]
    if depth == 32:
        stored = np.concatenate([stored, np.full((5, 7, 1), 255, np.uint8)], 2)
    content = bitmap(stored.reshape(5, -1), depth, top_down=top_down)
    np.testing.assert_array_equal(decode(content, "a.bmp"), image)


def test_bmp_with_palettes(decode: Any) -> None:
    palette = bytes([1, 2, 3, 0, 40, 50, 60, 0])
    colors = np.array([[3, 2, 1], [60, 50, 40]])
    numbers = np.array([[0, 1, 1, 0, 1, 0, 0, 1], [1, 1, 0, 0, 0, 0, 1, 1]], np.uint8)
    one = bitmap(np.packbits(numbers, axis=1), 1, palette)
    four = bitmap(numbers[:, ::2] * 16 + numbers[:, 1::2], 4, palette)
    eight = bitmap(numbers, 8, palette)
    for content in (one, four, eight):
        np.testing.assert_array_equal(decode(content, "a.bmp"), colors[numbers])


def test_bmp_with_16_bits(decode: Any) -> None:
    pixels = np.array([[0x7C00, 0x03E0, 0x001F, 0x7FFF]], "<u2").view(np.uint8)
    image = decode(bitmap(pixels, 16), "a.bmp")
    assert image.tolist() == [[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]]


def test_a_bmp_named_jpg(decode: Any, smooth: Any) -> None:
    image = smooth(5, 7, 9)
    np.testing.assert_array_equal(decode(bitmap(image[:, :, ::-1].reshape(5, -1), 24)), image)


def test_camera_rotation_is_not_applied(decode: Any, encode: Any, smooth: Any) -> None:
    plain = encode(smooth(20, 30, 9))
    # One entry of an EXIF block: tag 0x0112 (orientation), short, 6: turn right to see it upright.
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, 6, 0)
    block = b"Exif\0\0" + struct.pack(">2sHIH", b"MM", 42, 8, 1) + entry + bytes(4)
    rotated = plain[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + plain[2:]
    np.testing.assert_array_equal(decode(rotated), decode(plain))
    assert decode(rotated).shape == (20, 30, 3)


def test_20000_pixels_wide(decode: Any, encode: Any, smooth: Any) -> None:
    image = smooth(40, 20_000, 9)
    np.testing.assert_allclose(decode(encode(image)), image, atol=8)
    augment = get_data_augmentation_fn("resnet_v1_50", "TRAIN", 16, 16)
    assert decode(encode(image), augmentation_fn=augment).shape == (16, 16, 3)


def test_bytes_behind_the_end_do_no_harm(decode: Any, encode: Any, smooth: Any) -> None:
    content = encode(smooth(20, 30, 9))
    augment = get_data_augmentation_fn("resnet_v1_50", "EVAL", 16, 16)
    for options in ({}, {"augmentation_fn": augment}):
        np.testing.assert_array_equal(
            decode(content + b"trailer", **options), decode(content, skip_bad=True, **options)
        )


@pytest.mark.parametrize("name", ["向日葵 1.jpg", "with space.JPG", "%41.jpeg", "a'b\"c.png"])
def test_names(decode: Any, encode: Any, smooth: Any, name: str) -> None:
    assert decode(encode(smooth(8, 9, 1)), name).shape == (8, 9, 3)


def test_names_that_are_not_utf8(make_tree: Any, read: Any, encode: Any, smooth: Any) -> None:
    base = make_tree({"daisy": 0})
    name = "菊.jpg".encode("gbk")
    path = os.path.join(os.fsencode(base / "daisy"), name)
    for content in (encode(smooth(8, 9, 1)), b""):
        with open(path, "wb") as file:
            file.write(content)
        metadata = ImageClassificationRawMetadata(base)
        dataset = lambda: ImageClassificationRawDataset(metadata, num_epochs=1)  # noqa: B023, E731
        if content:
            assert read(dataset, ["image_name"]) == [[b"daisy/" + name]]
            continue
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            read(dataset, ["image_name"])
        assert f"{base}/daisy/\\xbe\\xd5.jpg is empty (0 bytes)." in caught.value.message
    os.rename(base / "daisy", os.path.join(os.fsencode(base), name))
    with pytest.raises(MoxValueError) as refused:
        ImageClassificationRawMetadata(base)
    assert str(refused.value) == (
        f"the name of the class folder \\xbe\\xd5.jpg in {base} is not UTF-8. Rename it."
    )


def _bad(kind: str, encode: Any, smooth: Any) -> tuple[bytes, str]:
    """A file that can't be decoded, and what is to be said of it."""
    jpeg, png = encode(smooth(200, 300, 9)), encode(smooth(20, 30, 9), "png")
    half = len(jpeg) // 2
    cut = f"is a JPEG image that is cut off: {half:,} bytes, without its end."
    start = jpeg.index(b"\xff\xc0")  # Of the frame: length and bits of precision follow.
    broken = jpeg[: start + 4] + b"\x0c" + jpeg[start + 5 :]
    return {
        "empty": (b"", "is empty (0 bytes)."),
        "text": (b"no image, just text", "is not an image: it begins with b'no image, just t'."),
        "cut": (jpeg[:half], cut),
        "cut png": (
            png[:-20],
            f"is a PNG image that is cut off: {len(png) - 20:,} bytes, without its end.",
        ),
        "tiff": (b"II*\0" + bytes(100), "is a TIFF image; convert it to JPEG or PNG."),
        "12 bits": (
            broken,
            f"is a JPEG image that can't be decoded: Invalid JPEG data, size {len(broken)}.",
        ),
        "cut bmp": (
            bitmap(np.zeros((4, 12), np.uint8), 24)[:-9],
            "is a BMP image that can't be decoded: the BMP ends in the middle: 39 of 48 bytes.",
        ),
    }[kind]


KINDS = ["empty", "text", "cut", "cut png", "tiff", "12 bits", "cut bmp"]
REMEDY = " Mend or delete it, or pass skip_bad=True to leave out samples that can't be read."


@pytest.mark.parametrize("augmented", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_file_is_named(
    make_tree: Any, read: Any, encode: Any, smooth: Any, kind: str, augmented: bool
) -> None:
    base = make_tree({"daisy": 3, "roses": 2})
    content, what = _bad(kind, encode, smooth)
    (base / "daisy" / "1.jpg").write_bytes(content)
    augment = get_data_augmentation_fn("vgg_16", "TRAIN", 8, 8) if augmented else None
    metadata = ImageClassificationRawMetadata(base)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        read(
            lambda: ImageClassificationRawDataset(metadata, augmentation_fn=augment),
            ["image"],
            Feed(seed=3),
        )
    assert f"{base}/daisy/1.jpg {what}{REMEDY}" in caught.value.message


@pytest.mark.parametrize(("place", "epochs"), [(0, None), (5, 1), (8, None), (8, 1)])
def test_a_bad_file_in_a_batch_is_named(
    make_tree: Any, read: Any, place: int, epochs: int | None
) -> None:
    base = make_tree({"daisy": 9})
    (base / "daisy" / f"{place}.jpg").write_bytes(b"")
    metadata = ImageClassificationRawMetadata(base)

    def dataset() -> ImageClassificationRawDataset:
        return ImageClassificationRawDataset(
            metadata, batch_size=4, image_size=8, shuffle=False, num_epochs=epochs
        )

    assert len(read(dataset, ["image"], most=place // 4)) == place // 4
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        read(dataset, ["image"])
    assert f"{base}/daisy/{place}.jpg is empty (0 bytes).{REMEDY}" in caught.value.message


@pytest.mark.parametrize("batch_size", [None, 2])
def test_where_all_files_are_bad_it_does_not_hang(
    make_tree: Any, read: Any, batch_size: int | None
) -> None:
    base = make_tree({"daisy": 3})
    metadata = ImageClassificationRawMetadata(base)
    for index in range(3):
        (base / "daisy" / f"{index}.jpg").unlink()
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        read(
            lambda: ImageClassificationRawDataset(metadata, batch_size=batch_size, image_size=8),
            ["image"],
        )
    assert "jpg can't be read: No such file or directory." in caught.value.message


def test_an_unreadable_or_missing_file_is_named(make_tree: Any, read: Any) -> None:
    base = make_tree({"daisy": 3})
    metadata = ImageClassificationRawMetadata(base)
    os.unlink(base / "daisy" / "2.jpg")
    dataset = lambda: ImageClassificationRawDataset(metadata, shuffle=False)  # noqa: E731
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        read(dataset, ["image"])
    assert f"{base}/daisy/2.jpg can't be read: No such file or directory.{REMEDY}" in str(
        caught.value
    )
    (base / "daisy" / "2.jpg").mkdir()
    with pytest.raises(tf.errors.InvalidArgumentError, match="2.jpg can't be read: Is a directory"):
        read(dataset, ["image"])


def test_samples_before_a_bad_file_arrive(make_tree: Any, read: Any) -> None:
    base = make_tree({"daisy": 9})
    (base / "daisy" / "6.jpg").write_bytes(b"")
    metadata = ImageClassificationRawMetadata(base)
    dataset = lambda: ImageClassificationRawDataset(metadata, shuffle=False)  # noqa: E731
    assert len(read(dataset, ["image"], most=6)) == 6


@pytest.mark.parametrize("augmented", [False, True])
def test_skip_bad_leaves_out_and_reports(
    make_tree: Any, read: Any, encode: Any, smooth: Any, messages: Any, augmented: bool
) -> None:
    base = make_tree({"daisy": len(KINDS), "roses": 4})
    for index, kind in enumerate(KINDS):
        (base / "daisy" / f"{index}.jpg").write_bytes(_bad(kind, encode, smooth)[0])
    augment = get_data_augmentation_fn("vgg_16", "TRAIN", 8, 8) if augmented else None
    metadata = ImageClassificationRawMetadata(base)

    def rows(start: int = 0, shard: int = 0, shards: int = 1) -> list[str]:
        found = read(
            lambda: ImageClassificationRawDataset(
                metadata, num_epochs=3, skip_bad=True, augmentation_fn=augment
            ),
            ["image_name"],
            Feed(seed=3, start=start, shard=shard, shards=shards),
        )
        return [row[0].decode() for row in found]

    whole = rows()
    good = {f"roses/{index}.jpg" for index in range(4)}
    assert [set(whole[first : first + 4]) for first in (0, 4, 8)] == [good] * 3
    said = messages()
    for index, kind in enumerate(KINDS):
        what = _bad(kind, encode, smooth)[1]
        assert said.count(f"skip_bad=True leaves out {base}/daisy/{index}.jpg {what}") == 1
    for epoch in (1, 2, 3):
        assert f"skip_bad=True left out 7 of 11 samples in epoch {epoch}." in said

    assert [rows(start) for start in (2, 5)] == [whole[2:], whole[5:]]
    shares = [rows(shard=shard, shards=2) for shard in range(2)]
    assert sorted(shares[0] + shares[1]) == sorted(whole)


def test_skip_bad_ends_where_nothing_is_good(make_tree: Any, read: Any) -> None:
    base = make_tree({"daisy": 2})
    for index in range(2):
        (base / "daisy" / f"{index}.jpg").write_bytes(b"")
    metadata = ImageClassificationRawMetadata(base)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        read(lambda: ImageClassificationRawDataset(metadata, skip_bad=True), ["image"])
    assert "none of 2 samples can be read. The last one: " in caught.value.message
    assert ".jpg is empty (0 bytes)." in caught.value.message
