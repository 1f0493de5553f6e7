"""Windows that image preprocessors cut out, against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.flow as flow
from moxing.errors import MoxTypeError, MoxValueError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files

# No pixel is there twice.
PIXELS = np.arange(8 * 10 * 3, dtype=np.uint8).reshape(8, 10, 3)
data: Any = flow.data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tf.Graph().as_default(), tf.Session() as session:
        image = session.run(tf.io.encode_png(PIXELS))
    record = OFRecord()
    record.feature["encoded"].bytes_list.value.append(image)
    files.write(str(tmp_path / "part-0"), [record])
    return tmp_path


def _job(folder: Path, shape: tuple[int, int, int], *steps: Any) -> Any:
    # Colors in the order of PIXELS.
    codec = data.ImageCodec([*steps, data.ImagePreprocessor("bgr2rgb")])
    conf = data.BlobConf("encoded", shape, flow.uint8, codec)

    @flow.function
    def job() -> Any:
        return data.decode_ofrecord(str(folder), conf, 1, 1)[0]

    return job


def _place(window: np.ndarray) -> tuple[int, int]:
    """The upper left corner of a window of PIXELS; raises where it is none."""
    places = np.argwhere((window[0, 0] == PIXELS).all(-1))
    assert len(places) == 1
    row, column = (int(n) for n in places[0])
    height, width = window.shape[:2]
    np.testing.assert_array_equal(window, PIXELS[row : row + height, column : column + width])
    return row, column


@pytest.mark.parametrize(
    ("step", "corner"),
    [
        (data.ImageCenterCropPreprocessor(width=5, height=3), (2, 2)),
        (data.ImageCropPreprocessor(5, 3, random_xy=False), (0, 0)),
        (data.ImageCropPreprocessor(5, 3, False, x=5, y=1), (1, 5)),
    ],
)
def test_crops_of_a_fixed_place_are_windows_there(folder: Path, step: Any, corner: Any) -> None:
    assert _place(_job(folder, (3, 5, 3), step)().get()[0]) == corner


def test_a_random_crop_reaches_every_place_of_the_image(folder: Path) -> None:
    job = _job(folder, (7, 10, 3), data.ImageCropPreprocessor(10, 7))
    # Each draw is one of two: that 60 are alike has the chance 2^-59.
    assert {_place(job().get()[0]) for _ in range(60)} == {(0, 0), (1, 0)}


def test_a_crop_of_random_size_keeps_to_its_area_and_ratio(folder: Path) -> None:
    # A fifth of 80 pixels, square.
    step = data.ImageCropWithRandomSizePreprocessor(area=(0.2, 0.2), ratio=(1.0, 1.0))
    job = _job(folder, (4, 4, 3), step)
    places = [_place(job().get()[0]) for _ in range(30)]
    # Of 35 places: that all are alike has the chance 35^-29.
    assert len(set(places)) > 1


def test_a_crop_of_random_size_that_fits_nowhere_is_the_image(folder: Path) -> None:
    step = data.ImageCropWithRandomSizePreprocessor(area=(0.9, 1.0), ratio=(3.0, 4.0))
    assert _place(_job(folder, PIXELS.shape, step)().get()[0]) == (0, 0)


def test_crops_and_resizes_follow_in_their_order(folder: Path) -> None:
    job = _job(
        folder,
        (2, 3, 3),
        data.ImageCenterCropPreprocessor(6, 4),
        data.ImageResizePreprocessor(3, 2),
    )
    window = PIXELS[2:6, 2:8].astype(np.float32)
    wanted = window.reshape(2, 2, 3, 2, 3).mean((1, 3))
    np.testing.assert_allclose(job().get()[0], wanted, atol=1)


def test_a_shorter_side_is_resized_before_a_crop(folder: Path) -> None:
    shorter = data.ImageTargetResizePreprocessor(resize_shorter=4)
    job = _job(folder, (4, 5, 3), shorter)
    wanted = PIXELS.astype(np.float32).reshape(4, 2, 5, 2, 3).mean((1, 3))
    np.testing.assert_allclose(job().get()[0], wanted, atol=1)
    flow.clear_default_session()
    cut = _job(folder, (4, 3, 3), shorter, data.ImageCenterCropPreprocessor(width=3, height=4))
    np.testing.assert_allclose(cut().get()[0], wanted[:, 1:4], atol=1)
    with pytest.raises(MoxValueError, match="resize_shorter=0; it is a positive whole number"):
        data.ImageTargetResizePreprocessor(resize_shorter=0)


@pytest.mark.parametrize(
    "step",
    [
        data.ImageCenterCropPreprocessor(11, 8),
        data.ImageCropPreprocessor(10, 9),
        data.ImageCropPreprocessor(10, 8, False, x=1),
    ],
)
def test_a_window_that_is_not_within_the_image_is_told(folder: Path, step: Any) -> None:
    job = _job(folder, (step.height, step.width, 3), step)
    with pytest.raises(MoxValueError) as caught:
        job().get()
    assert str(caught.value) == (
        f"{folder}/part-0, record 0 (at byte 0): the image of feature 'encoded' has height, width"
        " and channels (8, 10, 3), and a window that its ImageCodec cuts out is not within it. Put"
        " flow.data.ImageResizePreprocessor(width, height) before the crop."
    )


def test_sizes_of_crops_are_checked() -> None:
    with pytest.raises(MoxTypeError, match="ImageCropPreprocessor takes width and height as whole"):
        data.ImageCropPreprocessor(1.5, 2)
    with pytest.raises(MoxValueError, match="ImageCenterCropPreprocessor: width and height must"):
        data.ImageCenterCropPreprocessor(0, 2)
    with pytest.raises(MoxValueError) as caught:
        data.ImageCropWithRandomSizePreprocessor(area=(0.5, 2))
    assert str(caught.value) == (
        "ImageCropWithRandomSizePreprocessor: area=(0.5, 2); it is a pair of positive numbers up to"
        " 1, the lower first."
    )
