"""OFRecord files: bytes, every codec, and what is said of damaged ones."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.flow as flow
from moxing.errors import MoxValueError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files
from moxing.framework.file import publish

RAW = flow.data.RawCodec()


def _record(**features: Any) -> Any:
    record = OFRecord()
    for name, (kind, values) in features.items():
        getattr(record.feature[name], kind).value.extend(values)
    return record


def _png(pixels: np.ndarray) -> bytes:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.io.encode_png(pixels))


def _read(
    folder: Path | str, *confs: Any, batch: int = 1, parts: int = 1, calls: int = 1
) -> list[Any]:
    @flow.function
    def job() -> Any:
        return flow.data.decode_ofrecord(str(folder), confs, batch, parts)

    return [job().get() for _ in range(calls)]


def test_a_file_is_lengths_and_messages(tmp_path: Path) -> None:
    files.write(str(tmp_path / "part-0"), [_record(y=("int32_list", [7, 300]))])

    # A map entry: key "y", then a Feature whose field 4 is a packed list of varints.
    feature = b"\x22\x05\x0a\x03\x07\xac\x02"
    entry = b"\x0a\x01y\x12" + bytes([len(feature)]) + feature
    message = b"\x0a" + bytes([len(entry)]) + entry
    assert (tmp_path / "part-0").read_bytes() == struct.pack("<q", len(message)) + message


def test_numbers_may_be_packed_or_not(tmp_path: Path) -> None:
    feature = b"\x22\x04\x08\x07\x08\x09"
    entry = b"\x0a\x01y\x12" + bytes([len(feature)]) + feature
    files.write(str(tmp_path / "part-0"), [b"\x0a" + bytes([len(entry)]) + entry])

    ((found,),) = _read(tmp_path, flow.data.BlobConf("y", (2,), flow.int32, RAW))

    assert found.tolist() == [[7, 9]]


def test_every_kind_of_list_is_cast(tmp_path: Path) -> None:
    record = _record(
        f=("float_list", [1.5, 2]), d=("double_list", [2.5, 3]), i=("int32_list", [-1, 4]),
        l=("int64_list", [1 << 40, 5]), b=("bytes_list", [bytes([1, 200])]),
        s=("bytes_list", [b"ab", b"c"]),
    )  # fmt: skip
    files.write(str(tmp_path / "part-0"), [record])

    def conf(name: str, dtype: Any, shape: Any = (2,), codec: Any = RAW) -> Any:
        return flow.data.BlobConf(name, shape, dtype, codec)

    (found,) = _read(
        tmp_path, conf("f", flow.double), conf("d", flow.float), conf("i", flow.float),
        conf("l", flow.int64), conf("b", flow.int32), conf("f", flow.int32, (1, 2)),
        conf("b", flow.float, (4,), flow.data.RawCodec(auto_zero_padding=True)),
        conf("i", flow.int32, (3,), flow.data.RawCodec(auto_zero_padding=True)),
        conf("s", flow.int8, (2, 3), flow.data.BytesListCodec()),
    )  # fmt: skip

    # Bytes are signed: 200 is -56.
    assert [item[0].tolist() for item in found] == [
        [1.5, 2], [2.5, 3], [-1, 4], [1 << 40, 5], [1, -56], [[1, 2]], [1, -56, 0, 0], [-1, 4, 0],
        [[97, 98, 0], [99, 0, 0]],
    ]  # fmt: skip


def test_parts_are_read_in_order_and_again(tmp_path: Path) -> None:
    for part in range(2):
        records = [_record(n=("int32_list", [part * 2 + i])) for i in range(2)]
        files.write(str(tmp_path / f"part-{part}"), records)

    found = _read(tmp_path, flow.data.BlobConf("n", (), flow.int32, RAW), batch=3, parts=2, calls=3)

    assert [batch.tolist() for (batch,) in found] == [[0, 1, 2], [3, 0, 1], [2, 3, 0]]


def test_images_are_bgr_and_normalized_by_channel(tmp_path: Path) -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3) * 10
    files.write(str(tmp_path / "part-0"), [_record(encoded=("bytes_list", [_png(pixels)]))])
    norm = flow.data.NormByChannelPreprocessor((1, 2, 3), (2, 4, 8))
    swap = flow.data.ImageCodec([flow.data.ImagePreprocessor("bgr2rgb")])
    plain, shape = flow.data.ImageCodec(), (2, 2, 3)

    (found,) = _read(
        tmp_path,
        flow.data.BlobConf("encoded", shape, flow.float, plain),
        flow.data.BlobConf("encoded", shape, flow.float, plain, [norm]),
        flow.data.BlobConf("encoded", shape, flow.float, swap),
        flow.data.BlobConf("encoded", (2, 2, 1), flow.float, plain),
    )

    bgr = pixels[..., ::-1].astype(np.float32)
    np.testing.assert_array_equal(found[0][0], bgr)
    np.testing.assert_allclose(found[1][0], (bgr - [1, 2, 3]) / [2, 4, 8])
    np.testing.assert_array_equal(found[2][0], pixels)
    grey = np.round(pixels @ np.array([0.299, 0.587, 0.114]))
    np.testing.assert_allclose(found[3][0][..., 0], grey, atol=1)


def test_resizing_takes_half_pixel_centers_and_no_antialias(tmp_path: Path) -> None:
    pixels = np.array([[0, 100, 200, 40]], np.uint8)[..., None].repeat(3, -1).repeat(2, 0)
    files.write(str(tmp_path / "part-0"), [_record(encoded=("bytes_list", [_png(pixels)]))])
    codec = flow.data.ImageCodec([flow.data.ImageResizePreprocessor(8, 2)])

    ((found,),) = _read(tmp_path, flow.data.BlobConf("encoded", (2, 8, 3), flow.float, codec))

    assert found[0, 0, :, 0].tolist() == [0, 25, 75, 125, 175, 160, 80, 40]


def _fails(folder: Path, conf: Any, **kwargs: Any) -> str:
    with pytest.raises(MoxValueError) as caught:
        _read(folder, conf, **kwargs)
    return str(caught.value).replace(str(folder), "DIR")


def test_damage_is_named_with_file_and_record(tmp_path: Path) -> None:
    path, conf = tmp_path / "part-0", flow.data.BlobConf("n", (), flow.int32, RAW)
    files.write(str(path), [_record(n=("int32_list", [1]))] * 2)
    whole = path.read_bytes()
    length = len(whole) // 2

    path.write_bytes(whole[:-3])
    assert _fails(tmp_path, conf, batch=2) == (
        f"DIR/part-0, record 1 (at byte {length}) is cut short: it should have {length - 8} bytes,"
        f" and the file ends after {length - 11}. Write or copy the file again."
    )
    flow.clear_default_session()
    path.write_bytes(b"\xff" * 16)
    assert _fails(tmp_path, conf) == (
        "DIR/part-0, record 0 (at byte 0) has the length -1, which is not between 0 and 67108864:"
        " the file is damaged or no OFRecord file. Write or copy the file again."
    )


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("lable", (), "it has no feature 'lable'. Did you mean 'label'? It has 'label', 'x'."),
        (
            "x",
            (4,),
            "feature 'x' has 3 elements (float_list); shape (4,) has 4. Correct the shape in its"
            " BlobConf, or fill up with zeros: RawCodec(auto_zero_padding=True).",
        ),
        (
            "x",
            (2,),
            "feature 'x' has 3 elements (float_list); shape (2,) has 2. Correct the shape in its"
            " BlobConf.",
        ),
    ],
)
def test_a_feature_that_is_missing_or_of_another_shape_is_named(
    tmp_path: Path, name: str, shape: tuple[int, ...], message: str
) -> None:
    record = _record(label=("int32_list", [1]), x=("float_list", [1, 2, 3]))
    files.write(str(tmp_path / "part-0"), [record])

    assert _fails(tmp_path, flow.data.BlobConf(name, shape, flow.float, RAW)) == (
        f"DIR/part-0, record 0 (at byte 0): {message}"
    )


def test_an_image_of_another_size_is_named(tmp_path: Path) -> None:
    records = [_record(encoded=("bytes_list", [_png(np.zeros((3, 2, 3), np.uint8))]))]
    files.write(str(tmp_path / "part-0"), records)

    conf = flow.data.BlobConf("encoded", (2, 2, 3), flow.float, flow.data.ImageCodec())
    assert _fails(tmp_path, conf) == (
        "DIR/part-0, record 0 (at byte 0): the image of feature 'encoded' has height, width and"
        " channels (3, 2, 3), and shape (2, 2, 3) was asked for. Put"
        " flow.data.ImageResizePreprocessor(width, height) into its ImageCodec."
    )


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    files.write(str(tmp_path / "part-0"), [])

    conf = flow.data.BlobConf("n", (), flow.int32, RAW)
    assert _fails(tmp_path, conf, parts=2) == (
        "there is no part DIR/part-1: data_part_num=2 names DIR/part-0 to DIR/part-1. The folder"
        " has 1 of them: correct data_part_num, or write the others."
    )


def test_parts_of_a_store_are_read_in_order_again_and_again(store: Path) -> None:
    number = 0
    for part, count in enumerate((2, 0, 3)):
        path = store / "bucket" / "records" / f"part-{part}"
        path.parent.mkdir(exist_ok=True)
        rows = range(number, number + count)
        files.write(str(path), [_record(y=("int32_list", [n])) for n in rows])
        number += count
    y, url = flow.data.BlobConf("y", (1,), flow.int32, RAW), "s3://bucket/records"

    found = _read(url, y, batch=2, parts=3, calls=5)

    assert [int(n) for (batch,) in found for n in batch.ravel()] == [0, 1, 2, 3, 4] * 2
    flow.clear_default_session()
    with pytest.raises(MoxValueError) as caught:
        _read(url, y, parts=4)
    assert str(caught.value) == (
        f"there is no part {url}/part-3: data_part_num=4 names {url}/part-0 to {url}/part-3. The"
        " folder has 3 of them: correct data_part_num, or write the others."
    )
    flow.clear_default_session()
    with pytest.raises(MoxValueError, match="there is no part s3://bucket/none/part-0: .*There is"):
        _read("s3://bucket/none", y)
    flow.clear_default_session()
    (store / "bucket" / "records" / f"{publish.MARK}1").write_text("[]")
    with pytest.raises(MoxValueError, match="s3://bucket/records is not complete"):
        _read(url, y)


def test_a_damaged_record_in_a_store_is_named(store: Path) -> None:
    path = store / "bucket" / "part-0"
    files.write(str(path), [_record(y=("int32_list", [1])), _record(y=("int32_list", [1, 2]))])
    y = flow.data.BlobConf("y", (1,), flow.int32, RAW)
    with pytest.raises(MoxValueError) as caught:
        _read("s3://bucket", y, batch=2)
    assert str(caught.value).startswith(
        "s3://bucket/part-0, record 1 (at byte 20): feature 'y' has 2 elements (int32_list)"
    )
    path.write_bytes(path.read_bytes()[:-1])
    flow.clear_default_session()
    with pytest.raises(MoxValueError, match="s3://bucket/part-0, record 1 .* is cut short"):
        _read("s3://bucket", y, batch=2)
