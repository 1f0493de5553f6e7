"""Codecs, preprocessors and readers of `flow.data` against numpy."""

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

RAW = flow.data.RawCodec()
PIXELS = np.random.default_rng(4).integers(0, 256, (4, 6, 3)).astype(np.uint8)


def _encoded(pixels: np.ndarray) -> bytes:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.io.encode_png(pixels))


def _sized(width: Any, height: Any) -> Any:
    return flow.data.ImageResizePreprocessor(width, height)


def _write(folder: Path, *rows: dict[str, tuple[str, list[Any]]], name: str = "part-0") -> None:
    records = []
    for row in rows:
        record = OFRecord()
        for key, (kind, values) in row.items():
            getattr(record.feature[key], kind).value.extend(values)
        records.append(record)
    files.write(str(folder / name), records)


def _read(folder: Path, confs: Any, batch: int = 1, parts: int = 1, **more: Any) -> Any:
    @flow.function
    def job() -> Any:
        return flow.data.decode_ofrecord(str(folder), confs, batch, parts, **more)

    return job


def _image(steps: list[Any], shape: tuple[int, ...], dtype: Any = flow.float, pre: Any = ()) -> Any:
    return flow.data.BlobConf("encoded", shape, dtype, flow.data.ImageCodec(steps), pre)


def _resized(pixels: np.ndarray, width: int, height: int) -> np.ndarray:
    """Bilinear, half-pixel centers, no antialias, rounded to bytes."""

    def places(size: int, old: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0, old - 1)
        low = np.floor(at).astype(int)
        return low, np.minimum(low + 1, old - 1), at - low

    top, bottom, y = places(height, pixels.shape[0])
    left, right, x = places(width, pixels.shape[1])
    values, x, y = pixels.astype(np.float64), x[None, :, None], y[:, None, None]
    above = values[top][:, left] * (1 - x) + values[top][:, right] * x
    below = values[bottom][:, left] * (1 - x) + values[bottom][:, right] * x
    return np.round(above * (1 - y) + below * y)


def test_image_preprocessors_run_in_their_order(tmp_path: Path) -> None:
    _write(tmp_path, {"encoded": ("bytes_list", [_encoded(PIXELS)])})
    resize = flow.data.ImageResizePreprocessor(5, 3)
    swap = flow.data.ImagePreprocessor("bgr2rgb")

    found = _read(tmp_path, [
        _image([resize], (3, 5, 3)), _image([resize, swap], (3, 5, 3)),
        _image([swap, resize], (3, 5, 3)), _image([swap, swap], (4, 6, 3)),
        _image([], (4, 6, 3), flow.uint8), _image([], (4, 6, 3), flow.int32),
        _image([flow.data.ImageResizePreprocessor(3, 2), resize], (3, 5, 3)),
        _image([resize], (3, 5, 1)), _image([resize, swap], (3, 5, 1)),
    ])().get()  # fmt: skip

    bgr = PIXELS[..., ::-1]
    small, twice = _resized(bgr, 5, 3), _resized(_resized(bgr, 3, 2), 5, 3)
    wanted = [small, small[..., ::-1], small[..., ::-1], bgr, bgr, bgr, twice]
    for values, expected in zip(found, wanted, strict=False):
        np.testing.assert_allclose(values[0], expected, atol=1)
        assert np.mean(values[0] != expected) < 0.05  # Ties may round otherwise.
    assert [values.dtype for values in found[4:6]] == [np.uint8, np.int32]
    # Grey is taken of what the codec holds to be blue, green and red.
    grey = np.array([0.114, 0.587, 0.299])
    np.testing.assert_allclose(found[7][0, ..., 0], small @ grey, atol=1.5)
    np.testing.assert_allclose(found[8][0, ..., 0], small[..., ::-1] @ grey, atol=1.5)


def test_a_mirror_flips_about_half_of_the_images_in_predict_jobs_too(tmp_path: Path) -> None:
    _write(tmp_path, {"encoded": ("bytes_list", [_encoded(PIXELS)])})
    mirror = flow.data.ImagePreprocessor("mirror")

    (found,) = _read(tmp_path, [_image([mirror], (4, 6, 3))], batch=64)().get()

    bgr = PIXELS[..., ::-1].astype(np.float32)
    flipped = [np.array_equal(image, bgr[:, ::-1]) for image in found]
    plain = [np.array_equal(image, bgr) for image in found]
    assert sum(flipped) + sum(plain) == 64
    assert 12 <= sum(flipped) <= 52


def test_grey_images_become_three_equal_channels(tmp_path: Path) -> None:
    _write(tmp_path, {"encoded": ("bytes_list", [_encoded(PIXELS[..., :1])])})

    three, one = _read(tmp_path, [_image([], (4, 6, 3)), _image([], (4, 6, 1))])().get()

    np.testing.assert_array_equal(three[0], PIXELS[..., :1].repeat(3, -1))
    np.testing.assert_allclose(one[0], PIXELS[..., :1], atol=1)


def test_norms_go_by_the_axis_of_channels(tmp_path: Path) -> None:
    values = np.arange(24, dtype=np.float32)
    _write(tmp_path, {"x": ("float_list", values.tolist())})
    norm = flow.data.NormByChannelPreprocessor

    def conf(shape: tuple[int, ...], *steps: Any) -> Any:
        return flow.data.BlobConf("x", shape, flow.float, RAW, steps)

    found = _read(tmp_path, [
        conf((2, 4, 3), norm((1, 2, 3))),
        conf((2, 4, 3), norm((1, 2, 3), (2, 4, 8)), norm((0.5,), (2,), "no_channel")),
        conf((2, 3, 4), norm((1, 2), (2, 4), "channels_first")),
        conf((24,), norm((5,), (2,), "no_channel")),
    ])().get()  # fmt: skip

    last = values.reshape(2, 4, 3)
    np.testing.assert_allclose(found[0][0], last - [1, 2, 3])
    np.testing.assert_allclose(found[1][0], ((last - [1, 2, 3]) / [2, 4, 8] - 0.5) / 2)
    first = values.reshape(2, 3, 4)
    means, deviations = np.array([1, 2]), np.array([2, 4])
    wanted = (first - means[:, None, None]) / deviations[:, None, None]
    np.testing.assert_allclose(found[2][0], wanted)
    np.testing.assert_allclose(found[3][0], (values - 5) / 2)


def test_short_lists_are_filled_with_zeros_only_where_that_is_asked_for(tmp_path: Path) -> None:
    rows = [{"n": ("int32_list", list(range(1, count + 1)))} for count in (3, 1, 0, 2)]
    _write(tmp_path, *rows)
    padded = flow.data.RawCodec(auto_zero_padding=True)

    conf = flow.data.BlobConf("n", (3,), flow.int64, padded)
    (found,) = _read(tmp_path, [conf], batch=4)().get()

    assert found.tolist() == [[1, 2, 3], [1, 0, 0], [0, 0, 0], [1, 2, 0]]
    flow.clear_default_session()
    with pytest.raises(MoxValueError, match=r"record 1 .*has 1 elements \(int32_list\); shape"):
        _read(tmp_path, [flow.data.BlobConf("n", (3,), flow.int64, RAW)], batch=4)().get()


def test_two_calls_that_decode_the_same_files_stay_together(tmp_path: Path) -> None:
    _write(tmp_path, *({"n": ("int32_list", [i]), "m": ("int32_list", [10 * i])} for i in range(7)))

    @flow.function
    def job() -> Any:
        blobs = []
        for key in ("n", "m"):
            conf = flow.data.BlobConf(key, (), flow.int32, RAW)
            blobs += flow.data.decode_ofrecord(
                str(tmp_path), [conf], 3, 1, shuffle=True, buffer_size=5
            )
        return blobs

    seen = []
    for _ in range(14):
        n, m = job().get()
        assert (m == 10 * n).all()
        seen += n.tolist()
    assert set(seen) == set(range(7))
    assert seen[:7] != list(range(7))


def test_parts_have_the_prefix_and_the_digits_that_are_said(tmp_path: Path) -> None:
    for part in range(3):
        _write(tmp_path, {"n": ("int32_list", [part])}, name=f"train-{part:03d}")
    conf = flow.data.BlobConf("n", (), flow.int32, RAW)

    (found,) = _read(
        tmp_path, [conf], 3, 3, part_name_prefix="train-", part_name_suffix_length=3
    )().get()

    assert found.tolist() == [0, 1, 2]
    flow.clear_default_session()
    with pytest.raises(MoxValueError, match="part_name_suffix_length=1 is too short for"):
        _read(tmp_path, [conf], 2, 11, part_name_suffix_length=1)()


def test_random_data_have_the_type_and_range_of_their_initializer() -> None:
    @flow.function
    def job() -> Any:
        return (
            flow.data.decode_random((2, 3), flow.float, 50),
            flow.data.decode_random((4,), flow.int32, 50, flow.random_uniform_initializer(2, 5)),
        )

    first, second = job().get(), job().get()
    assert [values.shape for values in first] == [(50, 2, 3), (50, 4)]
    assert first[0].min() >= 0
    assert first[0].max() < 1
    assert set(first[1].ravel().tolist()) == {2, 3, 4}
    assert (first[0] != second[0]).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: _sized(2.5, 3), MoxTypeError, "takes width and height"),
        (lambda: flow.data.ImagePreprocessor("rgb"), MoxValueError, "'bgr2rgb' or 'mirror', not"),
        (lambda: flow.data.ImageCodec([RAW]), MoxTypeError, "ImageCodec takes image preprocessors"),
        (lambda: flow.data.NormByChannelPreprocessor((1, 2)), MoxValueError,
         "has 2 means and 3 standard deviations; give std_values= as many"),
        (lambda: flow.data.BlobConf("x", (3,), flow.float, "raw"), MoxTypeError, "is no codec"),
        (lambda: flow.data.BlobConf("x", (3, 2), flow.float, flow.data.ImageCodec()), MoxValueError,
         "an image's shape is"),
        (lambda: flow.data.BlobConf("x", (4, 4), flow.float, RAW,
                                    [flow.data.NormByChannelPreprocessor((1, 2, 3))]),
         MoxValueError, r"3 means for 4 channels of shape \(4, 4\)"),
    ],
)  # fmt: skip
def test_confs_that_make_no_sense_are_told(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()
