"""Calls of decode_ofrecord for the same parts share a reader, so that their blobs stay aligned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.flow as flow
from moxing.errors import MoxValueError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files
from moxing.flow.runtime import session

LABEL = flow.data.BlobConf("label", (), flow.int32, flow.data.RawCodec())
VALUE = flow.data.BlobConf("value", (2,), flow.float, flow.data.RawCodec())
IMAGE = flow.data.BlobConf("image", (1, 1, 3), flow.float, flow.data.ImageCodec())
PARTS, EACH = 2, 3


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Records whose number is in each of their features."""
    with tf.Graph().as_default(), tf.Session() as native:
        pixels = tf.placeholder(tf.uint8, [1, 1, 3])
        encode = native.make_callable(tf.io.encode_png(pixels), feed_list=[pixels])
        for part in range(PARTS):
            records = []
            for number in range(part * EACH, (part + 1) * EACH):
                record = OFRecord()
                record.feature["label"].int32_list.value.append(number)
                record.feature["value"].float_list.value.extend([number, -number])
                image = encode(np.full((1, 1, 3), number, np.uint8))
                record.feature["image"].bytes_list.value.append(image)
                records.append(record)
            files.write(str(tmp_path / f"part-{part}"), records)
    return str(tmp_path)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("count", [1, 2])
def test_calls_for_the_same_parts_read_each_record_once(
    folder: str, devices: Callable[[int], None], count: int, shuffle: bool
) -> None:
    devices(count)

    @flow.function
    def job() -> Any:
        def read(*confs: Any, name: str | None = None) -> Any:
            return flow.data.decode_ofrecord(
                folder, confs, 2, PARTS, shuffle=shuffle, buffer_size=3, name=name
            )

        (label,) = read(LABEL, name="first")
        doubled = label * 2
        value, again = read(VALUE, LABEL)
        (image,) = read(IMAGE, name="third")
        return label, doubled, value, again, image

    seen = []
    for _ in range(6):
        label, doubled, value, again, image = job().get()
        seen += label.tolist()
        assert again.tolist() == label.tolist()
        assert doubled.tolist() == (2 * label).tolist()
        assert value.tolist() == np.stack([label, -label], 1).tolist()
        assert image.tolist() == np.stack([label] * 3, 1)[:, None, None].tolist()

    assert set(seen) == set(range(PARTS * EACH))
    assert shuffle or sorted(seen) == sorted(2 * list(range(PARTS * EACH)))
    readers = session.default()._built["job"].readers
    assert len(readers) == count


def test_calls_for_the_same_parts_must_agree(folder: str) -> None:
    @flow.function
    def job() -> Any:
        first = flow.data.decode_ofrecord(folder, LABEL, 2, 2)
        return first, flow.data.decode_ofrecord(folder, VALUE, 2, 1)

    with pytest.raises(MoxValueError) as caught:
        job()
    assert str(caught.value) == (
        "decode_ofrecord: data_part_num=1, and a call before has data_part_num=2 for the same"
        f" parts of {folder}. Calls with one folder, prefix and batch_size share a reader: make"
        " their settings alike."
    )


def test_jobs_and_other_batch_sizes_have_readers_of_their_own(folder: str) -> None:
    @flow.function
    def one() -> Any:
        (two,) = flow.data.decode_ofrecord(folder, LABEL, 2, 2)
        (three,) = flow.data.decode_ofrecord(folder, LABEL, 3, 2)
        return two, three

    @flow.function
    def other() -> Any:
        return flow.data.decode_ofrecord(folder, LABEL, 2)[0]

    first = [array.tolist() for array in one().get()]
    assert first == [[0, 1], [0, 1, 2]]
    assert [array.tolist() for array in one().get()] == [[2, 3], [3, 4, 5]]
    # By default there is one part.
    assert [other().get().tolist() for _ in range(3)] == [[0, 1], [2, 0], [1, 2]]


def test_a_name_is_that_of_one_call(folder: str) -> None:
    @flow.function
    def job() -> Any:
        with flow.deprecated.variable_scope("a"):
            flow.data.decode_ofrecord(folder, LABEL, 2, 2, name="decode")
        return flow.data.decode_ofrecord(folder, VALUE, 2, 2, name="decode")

    with pytest.raises(MoxValueError, match="job job has two operations named 'decode'"):
        job()


def test_a_blob_of_a_reader_is_itself_where_tensorflow_fuses_operations(tmp_path: Path) -> None:
    """TensorFlow adds the iterator's first output to a scaled product, whichever was meant."""
    chance = np.random.default_rng(2)
    masks = chance.normal(size=(2, 1, 3, 3)).astype(np.float32)
    records = []
    for mask in masks:
        record = OFRecord()
        record.feature["other"].float_list.value.extend(np.zeros(9))
        record.feature["mask"].float_list.value.extend(mask.ravel())
        records.append(record)
    files.write(str(tmp_path / "part-0"), records)
    confs = [
        flow.data.BlobConf(name, (1, 3, 3), flow.float, flow.data.RawCodec())
        for name in ("other", "mask")
    ]
    x = chance.normal(size=(2, 2, 3, 4)).astype(np.float32)

    @flow.function
    def job(x: Any = flow.FixedTensorDef(x.shape)) -> Any:  # noqa: B008
        _, mask = flow.data.decode_ofrecord(str(tmp_path), confs, 2)
        return flow.matmul(x, x, transpose_b=True) * 0.5 + mask

    np.testing.assert_allclose(
        job(x).get(), x @ x.transpose(0, 1, 3, 2) * 0.5 + masks, rtol=1e-4, atol=1e-5
    )
