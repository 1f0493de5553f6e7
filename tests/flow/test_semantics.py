"""What operations and losses of the API mean, where TensorFlow's of that name mean otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError
from moxing.flow.runtime import session

ONES = flow.ones_initializer()
CHANCE = np.random.default_rng(5)


def _train(rate: float = 1.0, **more: Any) -> None:
    flow.config.train.primary_lr(rate)
    flow.config.train.model_update_conf({"naive_conf": {}})
    for name, value in more.items():
        getattr(flow.config.train, name)(value)


def _values(job: Callable[..., Any], *arrays: np.ndarray) -> Any:
    types = {"float32": flow.float, "int32": flow.int32, "int8": flow.int8}
    definitions = [flow.FixedTensorDef(a.shape, types[a.dtype.name]) for a in arrays]

    def listed(given: Any = definitions) -> Any:
        return job(*given)

    return flow.function(listed)(list(arrays)).get()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    ("shape", "places"),
    [((2, 5, 3), (2, 4)), ((2, 4, 3), (2, 4)), ((2, 3, 6), (2, 3, 2)), ((4, 6), (4, 2))],
)
@pytest.mark.parametrize("dims", [1, 2])
def test_batch_gather_takes_all_axes_of_the_indices_but_the_last_for_samples(
    devices: Callable[[int], None], count: int, shape: Any, places: Any, dims: int
) -> None:
    devices(count)
    x = CHANCE.normal(size=shape).astype(np.float32)
    i = CHANCE.integers(0, shape[len(places) - 1], places).astype(np.int32)

    found = _values(lambda x, i: flow.gather(x, i, axis=dims, batch_dims=dims), x, i)

    extra = i.reshape(*i.shape, *[1] * (x.ndim - i.ndim))
    np.testing.assert_array_equal(found, np.take_along_axis(x, extra, i.ndim - 1))


def test_a_batch_gather_that_does_not_fit_says_why() -> None:
    x, i = np.zeros((3, 5, 2), np.float32), np.zeros((2, 4), np.int32)
    with pytest.raises(MoxValueError, match=r"all axes of indices \(2, 4\) but the last must be"):
        _values(lambda x, i: flow.gather(x, i, axis=1, batch_dims=1), x, i)
    flow.clear_default_session()
    with pytest.raises(MoxValueError, match=r"batch_dims=1 goes with the same axis, not with axis"):
        _values(lambda x, i: flow.gather(x, i, axis=2, batch_dims=1), x, i)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("factor", [1, 64])
def test_a_loss_of_several_axes_trains_the_mean_of_its_elements(
    devices: Callable[[int], None], count: int, factor: int
) -> None:
    devices(count)
    x = CHANCE.normal(size=(4, 3, 2)).astype(np.float32)

    @flow.function
    def train(x: Any = flow.FixedTensorDef((4, 3, 2))) -> Any:  # noqa: B008
        _train(1.0, loss_scale_factor=factor)
        w = flow.get_variable("w", (2,), initializer=ONES)
        flow.losses.add_loss(x * w)
        return w

    flow.train.CheckPoint().init()
    train(x).get()

    np.testing.assert_allclose(train(x).get(), 1 - x.sum((0, 1)) / x.size, rtol=1e-5)


def test_a_half_loss_of_many_elements_still_trains() -> None:
    """Half precision can't hold how many they are."""

    @flow.function
    def train() -> Any:
        flow.config.default_data_type(flow.half)
        _train(1.0)
        w = flow.get_variable("w", (300, 300), initializer=ONES)
        flow.losses.add_loss(w * 1000.0)
        return w

    flow.train.CheckPoint().init()
    train().get()
    assert float(train().get()[0, 0]) == pytest.approx(1 - 1000 / 90000, abs=2e-3)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("factor", [1, 8])
def test_watched_gradients_are_those_of_the_sum_of_the_elements(
    devices: Callable[[int], None], count: int, factor: int
) -> None:
    """As the original has them: divided by the number of elements before the update only."""
    devices(count)
    x, seen = CHANCE.normal(size=(4, 3)).astype(np.float32), {}

    @flow.function
    def train(x: Any = flow.FixedTensorDef((4, 3))) -> Any:  # noqa: B008
        _train(1.0, loss_scale_factor=factor)
        w = flow.get_variable("w", (3,), initializer=ONES)
        y = x * w
        flow.watch_diff(w, lambda value: seen.update(w=value))
        flow.watch_diff(y, lambda value: seen.update(y=value))
        flow.losses.add_loss(flow.math.square(y))
        return w

    flow.train.CheckPoint().init()
    train(x).get()

    np.testing.assert_allclose(seen["y"], factor * 2 * x, rtol=1e-5)
    np.testing.assert_allclose(seen["w"], factor * (2 * x * x).sum(0), rtol=1e-5)
    np.testing.assert_allclose(train(x).get(), 1 - (2 * x * x).sum(0) / 12, rtol=1e-4, atol=1e-6)


def test_whole_numbers_are_divided_to_whole_numbers_toward_zero() -> None:
    x = np.array([7, 8, 9, -7], np.int32)

    found = _values(
        lambda x: [x / 2, flow.math.divide(x, 2), 100 / x, x / x, flow.cast(x, flow.float) / 2], x
    )

    assert [array.dtype for array in found] == [np.int32] * 4 + [np.float32]
    assert found[0].tolist() == found[1].tolist() == [3, 4, 4, -3]
    assert found[2].tolist() == [14, 12, 11, -14]
    assert found[4].tolist() == [3.5, 4, 4.5, -3.5]


@pytest.mark.parametrize(
    ("config", "definition", "left"),
    [
        (False, flow.input_blob_def, 2),
        (False, flow.FixedTensorDef, 1),
        (True, flow.input_blob_def, 1),
    ],
)
def test_the_number_of_devices_is_the_sessions_in_later_programs_and_stays_in_older_ones(
    config: bool, definition: Any, left: int
) -> None:
    flow.config.gpu_device_num(2)
    flow.config.ctrl_port(9000)

    @flow.function(*[flow.FunctionConfig()] * config)
    def job(x: Any = definition((4,))) -> Any:  # noqa: B008
        return x

    assert job(np.ones(4, np.float32)).get().tolist() == [1] * 4
    flow.clear_default_session()

    settings = session.default().settings
    assert settings.devices == left
    assert settings.values["ctrl_port"] == 9000


def test_settings_belong_to_the_session_that_starts_next() -> None:
    def start(devices: int) -> Any:
        flow.config.gpu_device_num(devices)

        @flow.function
        def job(x: Any = flow.FixedTensorDef((4,))) -> Any:  # noqa: B008
            return x * float(flow.placement.current_scope().parallel_size)

        return job(np.ones(4, np.float32)).get()[0]

    try:
        assert start(1) == 1
        # What changes nothing of the session that runs passes, of whatever time.
        flow.config.gpu_device_num(1)
        flow.env.ctrl_port(2017)
        flow.config.log_dir("elsewhere")
        flow.config.enable_inplace(True)
        with pytest.raises(MoxRuntimeError) as caught:
            flow.config.gpu_device_num(2)
        assert str(caught.value) == (
            "flow.config.gpu_device_num was called after the session started; call it before the"
            " first CheckPoint call and the first job call. To change it, call"
            " flow.clear_default_session(), and define the jobs again."
        )
        with pytest.raises(MoxTypeError, match="flow.config.ctrl_port takes an int"):
            flow.config.ctrl_port("2017")
        flow.clear_default_session()
        assert start(2) == 2
    finally:
        flow.clear_default_session()
        flow.config.gpu_device_num(1)


def test_a_watch_scope_tells_of_each_blob_what_programs_read_of_it() -> None:
    values: dict[str, Any] = {}

    @flow.function
    def job(x: Any = flow.FixedTensorDef((2, 3), batch_axis=1)) -> Any:  # noqa: B008
        seen.append(x.batch_axis)
        with flow.watch_scope(values):
            return flow.identity(x)

    seen: list[Any] = []
    job(np.zeros((2, 3), np.float32)).get()

    (entry,) = values.values()
    definition = entry["blob_def"]
    assert (definition.batch_axis, seen) == (1, [1])
    assert definition.static_shape == definition.shape == (2, 3)
    assert "test_semantics.py:" in definition.location


def test_orders_indices_and_constants_take_what_programs_give() -> None:
    x = np.array([[3, 1, 2], [4, 6, 5]], np.float32)

    def job(x: Any) -> Any:
        row = flow.reshape(x, (6,))
        return {
            "down": flow.argsort(x, "DESCENDING"),
            "one axis": flow.math.argmax(row),
            "all": flow.math.top_k(x, 10),
            "cast": flow.constant_like(x, 2.5, flow.int32),
        }

    found = _values(job, x)

    assert found["down"].tolist() == np.argsort(-x).tolist() == found["all"].tolist()
    assert found["one axis"].tolist() == [4]
    assert (found["cast"].dtype, found["cast"].tolist()) == (np.int32, [[2] * 3] * 2)
    flow.clear_default_session()
    with pytest.raises(MoxValueError, match="direction='UP'; it is 'ASCENDING' or 'DESCENDING'"):
        _values(lambda x: flow.argsort(x, "UP"), x)


def test_variables_of_a_convolution_can_be_named_and_default_types_be_whole_numbers() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((1, 2, 3, 3))) -> Any:  # noqa: B008
        flow.config.default_data_type(flow.int32)
        count = flow.get_variable("count", (2,), initializer=ONES)
        y = flow.layers.conv2d(x, 2, weight_name="kernel", bias_name="shift")
        return count, y, flow.get_variable("kernel"), flow.get_variable("shift")

    flow.train.CheckPoint().init()
    assert job(np.zeros((1, 2, 3, 3), np.float32)).get()[0].dtype == np.int32


def test_arguments_may_be_lists_tuples_and_dicts_of_definitions() -> None:
    one = flow.FixedTensorDef((2,))

    @flow.function
    def job(xs: Any = [one] * 3, named: Any = {"a": (one, one)}) -> Any:  # noqa: B006, B008
        assert [type(xs), type(named["a"])] == [list, tuple]
        return [xs[0] + xs[1] * 2.0 + xs[2] * 4.0, named["a"][0] - named["a"][1]]

    a = np.ones(2, np.float32)
    found = job([a, a, a], {"a": [a * 3, a]}).get()
    assert [array.tolist() for array in found] == [[7, 7], [2, 2]]

    with pytest.raises(MoxValueError, match=r"argument xs: it takes 3 arrays, and was given 2\."):
        job([a, a], {"a": (a, a)})
    with pytest.raises(MoxTypeError, match="argument named: it takes a dict of arrays, not"):
        job([a, a, a], [a])
    with pytest.raises(MoxValueError, match=r"argument named\['a'\]\[1\]: the array has shape"):
        job([a, a, a], {"a": (a, np.ones(3, np.float32))})


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: flow.nn.max_pool2d(x, 7, 1, "VALID", "NCHW"),
         "flow.nn.max_pool2d max_pool2d_0: windows of (7, 7) are larger than the input, which is"
         " (4, 5). Give smaller ones, or padding='SAME'."),
        (lambda x: flow.layers.conv2d(x, 2, 3, dilation_rate=2),
         "flow.nn.conv2d Conv2D_0: windows of (5, 5) are larger than the input, which is (4, 5)."
         " Give smaller ones, or padding='SAME'."),
        (lambda x: flow.concat([x, flow.reshape(x, (1, -1))], 1), None),
        (lambda x: flow.transpose(x, (0, 1)), None),
        (lambda x: flow.matmul(x, x), None),
        (lambda x: x + flow.reshape(x, (4, 15)), None),
        (lambda x: flow.math.reduce_sum(x, 7), None),
    ],
)  # fmt: skip
def test_operations_that_cannot_be_made_name_their_blobs(use: Any, message: str | None) -> None:
    with pytest.raises(MoxValueError) as caught:
        _values(use, np.zeros((1, 3, 4, 5), np.float32))

    if message is None:
        assert "(1, 3, 4, 5)" in str(caught.value)
    else:
        assert str(caught.value) == message
    assert any("test_semantics.py" in note for note in caught.value.__notes__)


def test_blobs_tell_the_axes_of_samples_and_of_devices() -> None:
    flow.config.gpu_device_num(2)
    told = {}

    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 3, 2))) -> Any:  # noqa: B008
        found = {
            "x": x,
            "all": flow.math.reduce_sum(x),
            "samples": flow.math.reduce_max(x, axis=[0, 2]),
            "kept": flow.math.reduce_sum(x, axis=[-1]),
            "held": flow.math.reduce_sum(x, axis=0, keepdims=True),
        }
        told.update({name: (blob.batch_axis, blob.split_axis) for name, blob in found.items()})
        assert not any(blob.is_dynamic for blob in found.values())
        return found

    job(np.ones((4, 3, 2), np.float32)).get()

    wanted = {"x": (0, 0), "all": (None, None), "samples": (None, None), "kept": (0, 0)}
    assert told == {**wanted, "held": (0, None)}


def test_types_and_settings_can_be_read() -> None:
    flow.config.gpu_device_num(2)
    flow.config.reserved_host_mem_mbyte(200)
    config = flow.FunctionConfig()
    config.indexed_slices_optimizer_conf({"include_op_names": {"op_name": ["embedding"]}})

    found = flow.env.current_resource()

    assert (found.gpu_device_num, found.machine_num, found.use_rdma) == (2, 1, False)
    assert found.reserved_host_mem_mbyte == 200
    assert flow.int32 in flow.dtypes
    assert flow.convert_of_dtype_to_numpy_dtype(flow.double) is np.float64
