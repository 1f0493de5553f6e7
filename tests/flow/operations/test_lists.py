"""Lists of arrays whose sizes differ, and the images and boxes in them, on one and two devices."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import moxing.flow as flow
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.flow.trace import lists

RANDOM = np.random.default_rng(12)
SIDES = ((20, 30), (17, 9), (8, 8))
IMAGES = [RANDOM.integers(0, 255, (*sides, 3)).astype(np.uint8) for sides in SIDES]
BOXES = [RANDOM.uniform(0, 8, (count, 4)).astype(np.float32) for count in (3, 1, 2)]


def _of_devices(arrays: list[np.ndarray], count: int) -> list[list[np.ndarray]]:
    """The arrays for each device: two devices have different numbers of them."""
    items = [array[None] for array in arrays]
    return [items] if count == 1 else [items[:2], items[2:]]


def _all(result: Any) -> list[np.ndarray]:
    return [array for found in result.ndarray_lists() for array in found]


def _png(image: np.ndarray) -> np.ndarray:
    content = io.BytesIO()
    Image.fromarray(image).save(content, "PNG")
    return np.frombuffer(content.getvalue(), np.int8)


def _call(definition: Any, job: Callable[[Any], Any], given: Any) -> Any:
    @flow.function
    def run(x: Any = definition) -> Any:
        return job(x)

    return run(given).get()


def _buffered(operation: Callable[[Any], Any], kind: Any, *shape: int) -> Callable[[Any], Any]:
    def job(x: Any) -> Any:
        made = operation(flow.tensor_list_to_tensor_buffer(x))
        return flow.tensor_buffer_to_tensor_list(made, shape, kind)

    return job


@pytest.mark.parametrize("count", [1, 2])
def test_lists_come_back_as_they_went_in(count: int, devices: Callable[[int], None]) -> None:
    devices(count)
    seen: list[Any] = []

    def job(x: Any) -> Any:
        buffer = flow.tensor_list_to_tensor_buffer(x)
        seen.extend((x.shape, buffer.shape, x.dtype, x.is_dynamic))
        again = flow.tensor_buffer_to_tensor_list(buffer, (5, 4), flow.float)
        return [x, flow.identity(again)]

    given = _of_devices(BOXES, count)
    for result in _call(flow.MirroredTensorListDef((3, 5, 4)), job, given):
        assert [len(arrays) for arrays in result.ndarray_lists()] == [len(one) for one in given]
        for found, wanted in zip(_all(result), BOXES, strict=True):
            np.testing.assert_array_equal(found, wanted[None])
    assert seen == [(3, 5, 4), (3,), flow.float, True]


@pytest.mark.parametrize("count", [1, 2])
def test_a_split_list_trains_by_the_blob_of_each_tensor(
    count: int, devices: Callable[[int], None]
) -> None:
    devices(count)

    @flow.function
    def train(x: Any = flow.MirroredTensorListDef((2, 3, 4))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(0.5)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (4, 1), initializer=flow.ones_initializer())
        first, second = flow.tensor_list_split(x)
        flow.losses.add_loss(flow.matmul(flow.concat([first, second], 0), w))
        return second, w

    rows = [RANDOM.normal(size=(size, 4)).astype(np.float32) for size in (3, 1, 2, 2)]
    given = [[array[None] for array in rows]]
    given = [given[0][:2]] if count == 1 else [given[0][:2], given[0][2:]]
    flow.train.CheckPoint().init()
    second, _ = train(given).get()
    np.testing.assert_array_equal(second.ndarray_list()[0], rows[1])
    used = np.concatenate(rows[: 2 * count])
    np.testing.assert_allclose(
        train(given).get()[1].ravel(), 1 - 0.5 * used.mean(0), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(("space", "kind"), [("BGR", flow.uint8), ("RGB", flow.float)])
def test_images_are_decoded(
    count: int, space: str, kind: Any, devices: Callable[[int], None]
) -> None:
    devices(count)
    given = _of_devices([_png(image) for image in IMAGES], count)
    definition = flow.MirroredTensorListDef((3, 10000), flow.int8)
    decode = _buffered(lambda x: flow.image.decode(x, kind, space), kind, 32, 32, 3)
    for found, image in zip(_all(_call(definition, decode, given)), IMAGES, strict=True):
        wanted = image[:, :, ::-1] if space == "BGR" else image
        assert found.dtype == kind.as_numpy_dtype
        np.testing.assert_array_equal(found[0], wanted)


IMAGE_OPERATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]] = {
    "left to right": (lambda x: flow.image.flip(x, 1), lambda x: x[:, ::-1]),
    "upside down": (lambda x: flow.image_flip(x, 16), lambda x: x[::-1]),
    "both": (lambda x: flow.image.flip(x, 17), lambda x: x[::-1, ::-1]),
    "nothing": (lambda x: flow.image.flip(x, 0), lambda x: x),
    "normalized": (
        lambda x: flow.image.normalize(x, (2.0, 4.0, 8.0), (1.0, 2.0, 3.0)),
        lambda x: (x - np.array([1, 2, 3])) / np.array([2, 4, 8]),
    ),
}


@pytest.mark.parametrize("kind", IMAGE_OPERATIONS)
@pytest.mark.parametrize("count", [1, 2])
def test_images_are_changed_one_by_one(
    kind: str, count: int, devices: Callable[[int], None]
) -> None:
    devices(count)
    operation, wanted = IMAGE_OPERATIONS[kind]
    floats = [image.astype(np.float32) for image in IMAGES]
    result = _call(
        flow.MirroredTensorListDef((3, 32, 32, 3)),
        _buffered(operation, flow.float, 32, 32, 3),
        _of_devices(floats, count),
    )
    for found, image in zip(_all(result), floats, strict=True):
        np.testing.assert_allclose(found[0], wanted(image), rtol=1e-6)


@pytest.mark.parametrize("count", [1, 2])
def test_images_are_resized_to_a_side_and_made_a_batch(
    count: int, devices: Callable[[int], None]
) -> None:
    """A resize to the same size keeps the values; a constant image stays constant."""
    devices(count)
    floats = [np.full((*sides, 3), sides[0], np.float32) for sides in SIDES]
    floats[2] = IMAGES[2].astype(np.float32)

    def job(x: Any) -> Any:
        made, size, scale = flow.image.target_resize(flow.tensor_list_to_tensor_buffer(x), 8, 12)
        return made, size, scale, flow.image.batch_align(made, (16, 16, 3), flow.float, 5)

    found = _call(flow.MirroredTensorListDef((3, 32, 32, 3)), job, _of_devices(floats, count))
    images, sizes = _all(found[0]), np.concatenate(found[1].ndarray_list())
    # 20x30 to 8x12; 17x9 would be 15x8, and 12 is the most: 12 * 9 / 17 = 6.35.
    np.testing.assert_array_equal(sizes, [[8, 12], [12, 6], [8, 8]])
    assert [image.shape for image in images] == [(1, *size, 3) for size in sizes]
    scales = np.concatenate(found[2].ndarray_list())
    np.testing.assert_allclose(scales, sizes / np.array(SIDES), rtol=1e-6)
    for image, number in zip(images[:2], (20, 17), strict=True):
        np.testing.assert_allclose(image, number, rtol=1e-6)
    np.testing.assert_allclose(images[2][0], floats[2], atol=1e-4)
    batches, rest = found[3].ndarray_list(), iter(images)
    assert [batch.shape[1:] for batch in batches] == ([(15, 15, 3), (10, 10, 3)][: len(batches)])
    for row in (row for batch in batches for row in batch):
        image = next(rest)[0]
        height, width = image.shape[:2]
        np.testing.assert_array_equal(row[:height, :width], image)
        assert not row[height:].any()
        assert not row[:, width:].any()


def test_a_resize_between_pixels_is_bilinear_around_their_centers() -> None:
    row = np.array([0, 10, 20, 30], np.float32)
    image = np.broadcast_to(row[None, :, None], (4, 4, 1)).copy()

    def job(x: Any) -> Any:
        return flow.image.target_resize(flow.tensor_list_to_tensor_buffer(x), 8, 8)[0]

    found = _all(_call(flow.MirroredTensorListDef((1, 4, 4, 1)), job, [[image[None]]]))[0]
    places = np.clip((np.arange(8) + 0.5) / 2 - 0.5, 0, 3)
    np.testing.assert_allclose(found[0, 0, :, 0], 10 * places, atol=1e-5)


def test_boxes_and_points_follow_their_images() -> None:
    sizes = np.array([[20, 30], [17, 9], [8, 8]], np.int32)
    codes, scale = np.array([1, 16, 17], np.int8), np.array([[2, 3], [1, 0.5], [4, 4]], np.float32)
    points = [box[:, :2] for box in BOXES]

    @flow.function
    def job(
        boxes: Any = flow.MirroredTensorListDef((3, 5, 4)),  # noqa: B008
        points: Any = flow.MirroredTensorListDef((3, 5, 2)),  # noqa: B008
        size: Any = flow.MirroredTensorDef((3, 2), flow.int32),  # noqa: B008
        code: Any = flow.MirroredTensorDef((3,), flow.int8),  # noqa: B008
        scale: Any = flow.MirroredTensorDef((3, 2)),  # noqa: B008
    ) -> Any:
        boxes, points = (flow.tensor_list_to_tensor_buffer(x) for x in (boxes, points))
        made = [
            flow.object_bbox_flip(boxes, size, code),
            flow.object_bbox_scale(boxes, scale),
            flow.object_segmentation_polygon_flip(points, size, code),
            flow.object_segmentation_polygon_scale(points, scale),
        ]
        return [
            flow.tensor_buffer_to_tensor_list(x, (5, n), flow.float)
            for x, n in zip(made, (4, 4, 2, 2), strict=True)
        ]

    given = [[array[None] for array in arrays] for arrays in (BOXES, points)]
    found = job([given[0]], [given[1]], [sizes], [codes], [scale]).get()
    flipped, scaled, turned, stretched = (_all(item) for item in found)
    for index, ((height, width), code) in enumerate(zip(sizes, codes, strict=True)):
        left, top, right, bottom = BOXES[index].T
        if code & 1:
            left, right = width - right - 1, width - left - 1
        if code & 16:
            top, bottom = height - bottom - 1, height - top - 1
        np.testing.assert_allclose(flipped[index][0].T, [left, top, right, bottom], rtol=1e-5)
        down, across = scale[index]
        factors = np.array([across, down, across, down])
        np.testing.assert_allclose(scaled[index][0], BOXES[index] * factors, rtol=1e-6)
        x, y = points[index].T
        wanted = [width - x if code & 1 else x, height - y if code & 16 else y]
        np.testing.assert_allclose(turned[index][0].T, wanted, rtol=1e-5)
        np.testing.assert_allclose(stretched[index][0], points[index] * factors[:2], rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[]], "it takes a list of 1 to 3 arrays, as its definition (3, 5, 4) says, not 0 arrays"),
        ([BOXES[0]], "it takes a list of 1 to 3 arrays"),
        ([[BOXES[0]]], "the array has shape (3, 4), and its definition at most (1, 5, 4)"),
        ([[BOXES[0].reshape(3, 1, 4)]], "its first size must be 1: array[None]"),
        ([[np.zeros((1, 7, 4), np.float32)]], "its definition at most (1, 5, 4)"),
    ],
)
def test_what_fits_no_list_is_refused(given: Any, message: str) -> None:
    with pytest.raises((MoxTypeError, MoxValueError), match=re.escape(message)):
        _call(flow.MirroredTensorListDef((3, 5, 4)), lambda x: x, given)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (lambda x: flow.math.relu(x), "takes no list of tensors: flow.image.batch_align makes"),
        (lambda x: x + 1, "takes no list of tensors"),
        (lambda x: flow.watch(x), "a list of tensors has no tensor of its own"),
        (lambda x: flow.image.flip(x, 2), "flip_code=2; it is 0 for nothing, 1 from left to right"),
        (lambda x: flow.image.decode(x), "takes tensors of 1 axes, and those of "),
        (lambda x: flow.image.target_resize(x, 9, 8), "target_size=9, max_size=8: they are"),
        (lambda x: flow.image.batch_align(x, (8, 8, 3), flow.float, 0), "alignment=0 must be"),
        (lambda x: flow.image.normalize(x, (1,), (2,)), "give one number for each of the 3"),
        (
            lambda x: flow.tensor_buffer_to_tensor_list(x, (9, 9, 3), flow.int32),
            "dtype=int32, and the tensors are float32",
        ),
        (lambda x: vars(flow.image)["flip"](flow.constant(1.0, flow.float), 1), "not <Blob"),
    ],
)
def test_what_lists_can_t_do_is_refused(operation: Callable[[Any], Any], message: str) -> None:
    with pytest.raises((MoxNotSupportedError, MoxTypeError, MoxValueError), match=message):
        _call(
            flow.MirroredTensorListDef((1, 8, 8, 3)),
            operation,
            [[np.zeros((1, 8, 8, 3), np.float32)]],
        )


def test_a_tensor_larger_than_its_list_says_is_an_error_with_the_shape() -> None:
    job = _buffered(lambda x: flow.identity(x), flow.float, 2, 4)
    with pytest.raises(Exception, match=r"a tensor has more elements than shape=\(2, 4\)"):
        _call(flow.MirroredTensorListDef((3, 5, 4)), job, [[BOXES[0][None]]])


def test_arrays_of_any_size_are_packed_and_unpacked() -> None:
    arrays = [np.zeros((0, 3), np.float32), np.ones((1,), np.int8), np.arange(6.0).reshape(2, 3)]
    for found, wanted in zip(lists.unpacked(lists.packed(arrays)), arrays, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
