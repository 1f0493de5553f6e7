"""Layers with variables of their own: their names, and what they compute."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxValueError
from moxing.flow.runtime import session

IMAGE = np.arange(2 * 2 * 4 * 4, dtype=np.float32).reshape(2, 2, 4, 4)
ONES = flow.ones_initializer()


def _names() -> list[str]:
    return sorted(session.default().variables.by_name)


@pytest.mark.parametrize("count", [1, 2])
def test_layers_without_names_get_names_of_their_own(
    devices: Callable[[int], None], count: int
) -> None:
    devices(count)

    @flow.function
    def job(x: Any = flow.FixedTensorDef(IMAGE.shape)) -> Any:  # noqa: B008
        y = flow.layers.conv2d(x, 3, 2, kernel_initializer=ONES)
        z = flow.layers.conv2d(x, 1, 2, kernel_initializer=ONES)
        rows = flow.reshape(flow.concat([y, z], 1), (2, -1))
        with flow.deprecated.variable_scope("a"):
            first = flow.layers.dense(rows, 2, kernel_initializer=ONES)
        rest = [flow.layers.dense(rows, units, kernel_initializer=ONES) for units in (2, 1)]
        return [first, *rest]

    flow.train.CheckPoint().init()
    found = job(IMAGE).get()

    assert _names() == [
        f"{name}-{end}"
        for name in ("Conv2D_0", "Conv2D_1", "Dense_1", "Dense_2", "a-Dense_0")
        for end in ("bias", "weight")
    ]
    windows = sum(IMAGE[:, :, i : i + 3, j : j + 3] for i in (0, 1) for j in (0, 1)).sum((1, 2, 3))
    wanted = 4 * windows[:, None]
    for array, units in zip(found, (2, 2, 1), strict=True):
        np.testing.assert_allclose(array, np.repeat(wanted, units, 1))


def test_a_name_may_still_not_be_given_twice() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2, 3))) -> Any:  # noqa: B008
        flow.layers.dense(x, 2, name="fc")
        return flow.layers.dense(x, 2, name="fc")

    with pytest.raises(MoxValueError, match="job job has two operations named 'fc_matmul'"):
        flow.train.CheckPoint().init()


def _train(rate: float = 1.0) -> None:
    flow.config.train.primary_lr(rate)
    flow.config.train.model_update_conf({"naive_conf": {}})


@pytest.mark.parametrize("training", [None, True, False])
@pytest.mark.parametrize("trainable", [True, False])
def test_batch_norm_goes_by_training_and_else_by_trainable(
    training: bool | None, trainable: bool
) -> None:
    x = np.array([[1, 2], [3, 8]], np.float32)

    @flow.function
    def train(x: Any = flow.FixedTensorDef((2, 2))) -> Any:  # noqa: B008
        _train(0.0)
        w = flow.get_variable("w", (1,), initializer=ONES)
        y = flow.layers.batch_normalization(
            x, epsilon=0.0, trainable=trainable, training=training, name="bn"
        )
        flow.losses.add_loss(flow.math.reduce_sum(y * w, 1))
        mean = flow.get_variable("bn-moving_mean", (2,), initializer=flow.zeros_initializer())
        return y, mean

    flow.train.CheckPoint().init()
    (y, _), (_, mean) = train(x).get(), train(x).get()

    by_batch = trainable if training is None else training
    wanted = (x - x.mean(0)) / x.std(0) if by_batch else x
    np.testing.assert_allclose(y, wanted, rtol=1e-5)
    np.testing.assert_allclose(mean, 0.01 * x.mean(0) if by_batch else [0, 0], rtol=1e-4)


def test_batch_norm_takes_regularizers_of_its_variables() -> None:
    @flow.function
    def train(x: Any = flow.FixedTensorDef((2, 2))) -> Any:  # noqa: B008
        _train()
        y = flow.layers.batch_normalization(
            x,
            training=False,
            beta_initializer=flow.constant_initializer(4.0),
            beta_regularizer=flow.regularizers.l2(0.25),
            gamma_regularizer=flow.regularizers.l1(0.5),
            name="bn",
        )
        flow.losses.add_loss(flow.math.reduce_sum(y, 1) * 0.0)
        names = [("bn-beta", flow.constant_initializer(4.0)), ("bn-gamma", ONES)]
        return [flow.get_variable(name, (2,), initializer=first) for name, first in names]

    flow.train.CheckPoint().init()
    x = np.ones((2, 2), np.float32)
    train(x).get()
    beta, gamma = train(x).get()

    assert (beta.tolist(), gamma.tolist()) == ([3, 3], [0.5, 0.5])


def _grouped(x: np.ndarray, w: np.ndarray, groups: int, stride: int) -> np.ndarray:
    """The convolution, VALID, of [n, c, h, w] and [out, c / groups, kh, kw]."""
    outs = []
    for ours, filters in zip(np.split(x, groups, 1), np.split(w, groups, 0), strict=True):
        windows = np.lib.stride_tricks.sliding_window_view(ours, w.shape[2:], (2, 3))  # type: ignore
        outs.append(np.einsum("nchwij,ocij->nohw", windows[:, :, ::stride, ::stride], filters))
    return np.concatenate(outs, 1)


@pytest.mark.parametrize(("groups", "filters", "stride"), [(1, 3, 1), (2, 6, 2), (4, 8, 2)])
@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
def test_grouped_convolutions_and_their_gradients_are_those_of_numpy(
    groups: int, filters: int, stride: int, data_format: str
) -> None:
    chance = np.random.default_rng(5)
    x = chance.normal(size=(2, 4, 6, 5)).astype(np.float32)
    w = chance.normal(size=(filters, 4 // groups, 3, 2)).astype(np.float32)
    first = data_format == "NCHW"
    shape = w.shape if first else (filters, 3, 2, 4 // groups)
    seen: dict[str, np.ndarray] = {}

    @flow.function
    def train(
        x: Any = flow.FixedTensorDef(x.shape if first else (2, 6, 5, 4)),  # noqa: B008
        w: Any = flow.FixedTensorDef(shape, batch_axis=None),  # noqa: B008
    ) -> Any:
        _train(0.0)
        one = flow.get_variable("one", (1,), initializer=ONES)
        filters = w * one
        y = flow.nn.conv2d(x, filters, stride, "VALID", data_format, groups=groups)
        flow.watch_diff(filters, lambda value: seen.update(slope=value.ndarray()))
        flow.losses.add_loss(flow.math.reduce_sum(flow.math.square(y), (1, 2, 3)))
        return y

    @flow.function
    def layer(x: Any = flow.FixedTensorDef(x.shape)) -> Any:  # noqa: B008
        return flow.layers.conv2d(
            x, filters, (3, 2), stride, groups=groups, kernel_initializer=ONES, name="c"
        )

    flow.train.CheckPoint().init()
    images, kernel = (x, w) if first else (x.transpose(0, 2, 3, 1), w.transpose(0, 2, 3, 1))
    found = train(images, kernel).get().ndarray()
    slope = seen["slope"]
    if not first:
        found, slope = found.transpose(0, 3, 1, 2), slope.transpose(0, 3, 1, 2)

    wanted = _grouped(x, w, groups, stride)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    # The loss is a square of what is linear in w: its slope along w is twice itself.
    assert (slope * w).sum() == pytest.approx(2 * (wanted**2).sum(), rel=1e-4)
    step = chance.normal(size=w.shape)
    cross = 2 * (wanted * _grouped(x, step, groups, stride)).sum()
    assert (slope * step).sum() == pytest.approx(cross, rel=1e-3, abs=1e-2)
    np.testing.assert_allclose(
        layer(x).get(), _grouped(x, np.ones_like(w), groups, stride), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("groups", [3, 0])
def test_groups_must_share_channels_and_filters_evenly(groups: int) -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2, 4, 6, 5))) -> Any:  # noqa: B008
        return flow.layers.conv2d(x, 6, groups=groups, name="c")

    with pytest.raises(MoxValueError) as caught:
        flow.train.CheckPoint().init()
    assert str(caught.value) == (
        f"flow.layers.conv2d c: groups={groups} must divide the 4 channels of the input and the 6"
        " filters."
    )


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (
            (None, 3),
            r"not \(None, 3\): a None is a size that the job does not know, .* as a number",
        ),
        ((2, -1), r"variable 'w' needs a shape of whole numbers, not \(2, -1\)\.$"),
        ((2.5, 1), r"variable 'w' needs a shape of whole numbers, not \(2.5, 1\)\.$"),
        ((True,), r"variable 'w' needs a shape of whole numbers, not \(True,\)\.$"),
        (("a", 1), r"variable 'w' needs a shape of whole numbers, not \('a', 1\)\.$"),
        (3, r"variable 'w' needs a shape of whole numbers, not 3\.$"),
        (None, r"variable 'w' needs a shape of whole numbers, not None\.$"),
    ],
)
def test_a_shape_without_whole_numbers_is_refused(shape: Any, message: str) -> None:
    @flow.function
    def job() -> Any:
        return flow.get_variable("w", shape, initializer=ONES)

    with pytest.raises(MoxValueError) as caught:
        flow.train.CheckPoint().init()
    assert re.search(message, str(caught.value))


@pytest.mark.parametrize("shape", [[2, 3], (np.int64(2), 3), (4 / 2, 3.0), np.array([2, 3])])
def test_numbers_of_any_type_make_a_shape(shape: Any) -> None:
    @flow.function
    def job() -> Any:
        return flow.get_variable("w", shape, initializer=ONES)

    flow.train.CheckPoint().init()
    np.testing.assert_array_equal(job().get(), np.ones((2, 3)))
