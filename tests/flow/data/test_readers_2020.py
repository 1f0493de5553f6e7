"""The readers, decoders and image operations of 2020 read what `decode_ofrecord` reads."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import moxing.flow as flow
from moxing.errors import MoxTypeError, MoxValueError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files

CHANCE = np.random.default_rng(2)
# Smooth, so that a resize of half the size is close to a mean of four pixels.
IMAGES = [
    np.add.outer(np.arange(h) * 3, np.arange(w) * 5)[..., None] + np.array([0, 40, 80])
    for h, w in ((8, 12), (12, 8), (10, 10), (8, 8))
]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for part in range(2):
        with files.Writer(str(tmp_path / f"part-{part}")) as writer:
            for index in range(2 * part, 2 * part + 2):
                record, stream = OFRecord(), io.BytesIO()
                Image.fromarray(IMAGES[index].astype(np.uint8)).save(stream, "PNG")
                record.feature["encoded"].bytes_list.value.append(stream.getvalue())
                record.feature["class/label"].int32_list.value.append(index)
                writer.write(record)
    return str(tmp_path)


@pytest.mark.parametrize("count", [1, 2])
def test_a_pipeline_of_2020_decodes_resizes_crops_mirrors_and_normalizes(
    folder: str, devices: Callable[[int], None], count: int
) -> None:
    devices(count)
    mean, std = [10.0, 20.0, 30.0], [2.0, 4.0, 8.0]

    @flow.function
    def read(flips: Any = flow.FixedTensorDef((4,), flow.int8)) -> Any:  # noqa: B008
        records = flow.data.ofrecord_reader(folder, batch_size=4, data_part_num=2)
        labels = flow.data.OFRecordRawDecoder(records, "class/label", (1,), flow.int32)
        images = flow.data.OFRecordImageDecoder(records, "encoded", color_space="RGB")
        whole = flow.image.Resize(images, resize_x=6, resize_y=4)
        cut = flow.image.CropMirrorNormalize(images, crop_h=4, crop_w=6, crop_pos_y=1.0)
        done = flow.image.CropMirrorNormalize(
            whole, flips, output_layout="NHWC", crop_h=4, crop_w=4, mean=mean, std=std
        )
        return labels, whole, cut, done

    flips = np.array([0, 1, 1, 0], np.int8)
    labels, whole, cut, done = read(flips).get()

    assert labels.tolist() == [[0], [1], [2], [3]]
    assert (whole.dtype, whole.shape) == (np.uint8, (4, 4, 6, 3))
    np.testing.assert_allclose(whole[0], IMAGES[0].reshape(4, 2, 6, 2, 3).mean((1, 3)), atol=1)
    for image, found in zip(IMAGES, cut, strict=True):
        left = (image.shape[1] - 6) // 2
        np.testing.assert_array_equal(found, image[-4:, left : left + 6].transpose(2, 0, 1))
    wanted = (whole[:, :, 1:5].astype(np.float32) - mean) / std
    wanted[1:3] = wanted[1:3, :, ::-1]
    np.testing.assert_allclose(done, wanted, rtol=1e-5)


@pytest.mark.parametrize("quality", [50, 95])
def test_jpeg_images_have_the_pixels_of_the_original_s_decoder(
    tmp_path: Path, quality: int
) -> None:
    """Pillow, as OpenCV, decodes by libjpeg's exact transform."""
    stream, record = io.BytesIO(), OFRecord()
    Image.fromarray(CHANCE.integers(0, 255, (8, 12, 3), dtype=np.uint8)).resize((90, 60)).save(
        stream, "JPEG", quality=quality
    )
    record.feature["encoded"].bytes_list.value.append(stream.getvalue())
    files.write(str(tmp_path / "part-0"), [record])
    content = np.frombuffer(stream.getvalue(), np.int8)[None]
    wanted = np.asarray(Image.open(stream))

    @flow.function
    def read(content: Any = flow.MirroredTensorListDef((1, content.size), flow.int8)) -> Any:  # noqa: B008
        conf = flow.data.BlobConf("encoded", (60, 90, 3), flow.uint8, flow.data.ImageCodec())
        images = flow.image.decode(flow.tensor_list_to_tensor_buffer(content), color_space="RGB")
        listed = flow.tensor_buffer_to_tensor_list(images, (60, 90, 3), flow.uint8)
        return flow.data.decode_ofrecord(str(tmp_path), conf, 1, 1)[0], listed

    record_image, listed = read([[content]]).get()
    np.testing.assert_array_equal(record_image[0], wanted[..., ::-1])
    np.testing.assert_array_equal(listed.ndarray_lists()[0][0][0], wanted)


def test_a_shorter_side_is_resized_and_a_window_cut_out_of_the_middle(folder: str) -> None:
    @flow.function
    def read() -> Any:
        records = flow.data.ofrecord_reader(folder, batch_size=4, data_part_num=2)
        images = flow.data.OFRecordImageDecoder(records, "encoded")  # BGR.
        images = flow.image.Resize(images, resize_shorter=4)
        return flow.image.CropMirrorNormalize(
            images, crop_h=4, crop_w=4, output_layout="NHWC", output_dtype=flow.float
        )

    found = read().get()
    small = IMAGES[0].reshape(4, 2, 6, 2, 3).mean((1, 3))
    np.testing.assert_allclose(found[0], small[:, 1:5, ::-1], atol=1)


def test_random_crops_are_resized_and_coins_are_flipped_anew(folder: str) -> None:
    @flow.function
    def read() -> Any:
        records = flow.data.ofrecord_reader(
            folder, 4, 2, random_shuffle=True, shuffle_after_epoch=True
        )
        images = flow.data.OFRecordImageDecoderRandomCrop(records, "encoded", seed=1)
        flips = flow.random.CoinFlip(batch_size=64, probability=0.25)
        return flow.image.Resize(images, resize_x=5, resize_y=5), flips

    steps = [read().get() for _ in range(8)]
    images, flips = (np.stack([step[i] for step in steps]) for i in (0, 1))
    assert images.shape == (8, 4, 5, 5, 3)
    assert set(flips.ravel()) == {0, 1}
    assert flips.mean() == pytest.approx(0.25, abs=0.1)
    assert len({row.tobytes() for row in flips}) > 1


def test_what_is_no_reader_and_no_window_is_named(folder: str) -> None:
    def raised(use: Callable[[Any], Any]) -> str:
        flow.clear_default_session()

        @flow.function
        def job() -> Any:
            return use(flow.data.ofrecord_reader(folder, 4, 2))

        with pytest.raises((MoxTypeError, MoxValueError)) as caught:
            job()
        return str(caught.value)

    decoded = flow.data.OFRecordImageDecoder
    assert "takes the result of flow.data.ofrecord_reader" in raised(
        lambda r: flow.data.OFRecordRawDecoder("records", "n", (1,), flow.int32)  # type: ignore
    )
    assert "color_space='HSV'; it is 'BGR', 'RGB' or 'GRAY'" in raised(
        lambda r: decoded(r, "encoded", "HSV")
    )
    assert "give resize_shorter alone, or the other two" in raised(
        lambda r: flow.image.Resize(decoded(r, "encoded"), resize_x=5)
    )
    assert "images of several sizes need crop_h and crop_w" in raised(
        lambda r: flow.image.CropMirrorNormalize(decoded(r, "encoded"))
    )
