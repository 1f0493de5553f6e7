"""`watch` and `watch_diff` see values and gradients of every blob, whatever its layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxValueError
from moxing.flow.runtime import session

IMAGES = np.random.default_rng(3).normal(size=(4, 6, 6, 3)).astype(np.float32)


def _train() -> None:
    flow.config.train.primary_lr(0.0)
    flow.config.train.model_update_conf({"naive_conf": {}})


def _normal() -> Any:
    return flow.random_normal_initializer(0.0, 0.3)


@pytest.mark.parametrize("devices", [1, 2])
def test_gradients_are_seen_through_convolutions_pools_biases_and_activations(
    devices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradient at each blob is the change of the loss with the blob."""
    session.default().settings.values["gpu_device_num"] = devices
    seen: dict[str, np.ndarray] = {}
    stages = ("images", "nchw", "conv", "biased", "active", "pooled", "flat")
    shapes = {
        "images": (4, 6, 6, 3), "nchw": (4, 3, 6, 6), "conv": (4, 5, 6, 6), "biased": (4, 5, 6, 6),
        "active": (4, 5, 6, 6), "pooled": (4, 5, 3, 3), "flat": (4, 45),
    }  # fmt: skip

    def model(images: Any, extra: dict[str, Any]) -> Any:
        blobs: dict[str, Any] = {}

        def note(name: str, blob: Any) -> Any:
            blobs[name] = blob
            return blob + extra[name] if name in extra else blob

        x = note("images", images)
        x = note("nchw", flow.transpose(x, (0, 3, 1, 2)))
        w = flow.get_variable("w", (5, 3, 3, 3), initializer=_normal())
        x = note("conv", flow.nn.conv2d(x, w, 1, "SAME", "NCHW"))
        b = flow.get_variable("b", (5,), initializer=_normal())
        x = note("biased", flow.nn.bias_add(x, b, "NCHW"))
        x = note("active", flow.math.sigmoid(x))
        x = note("pooled", flow.nn.avg_pool2d(x, 2, 2, "SAME", "NCHW"))
        x = note("flat", flow.reshape(x, (4, -1)))
        return blobs, flow.math.reduce_sum(flow.math.square(x), 1)

    @flow.function
    def train(images: Any = flow.FixedTensorDef(IMAGES.shape)) -> Any:  # noqa: B008
        _train()
        blobs, loss = model(images, {})
        for name in stages:
            flow.watch_diff(blobs[name], lambda value, name=name: seen.update({name: value}))
        flow.losses.add_loss(loss)
        return loss

    def moved(stage: str) -> Any:
        def job(
            images: Any = flow.FixedTensorDef(IMAGES.shape),  # noqa: B008
            shift: Any = flow.FixedTensorDef(shapes[stage]),  # noqa: B008
        ) -> Any:
            return model(images, {stage: shift})[1]

        job.__name__ = f"moved_{stage}"
        return flow.function(job)

    jobs = {stage: moved(stage) for stage in stages}
    flow.train.CheckPoint().init()
    train(IMAGES).get()

    for stage in stages:
        # Every entry goes the gradient's way, so that no sum ends near 0, where rounding rules.
        sizes = np.random.default_rng(1).uniform(0.5, 1.5, shapes[stage])
        direction = (np.sign(seen[stage]) * sizes).astype(np.float32)
        up, down = (jobs[stage](IMAGES, sign * 0.01 * direction).get().sum() for sign in (1, -1))
        slope = (up - down) / 0.02
        assert seen[stage].shape == shapes[stage]
        assert float((seen[stage] * direction).sum()) == pytest.approx(float(slope), rel=5e-3)


def test_a_blob_that_is_also_used_in_its_other_layout_has_its_own_gradient() -> None:
    """One consumer reads the images, one their transposition: each sees its part, and the sum."""
    seen: dict[str, np.ndarray] = {}

    @flow.function
    def train(images: Any = flow.FixedTensorDef(IMAGES.shape)) -> Any:  # noqa: B008
        _train()
        w = flow.get_variable("w", (1,), initializer=flow.ones_initializer())
        scaled = images * w
        nchw = flow.transpose(scaled, (0, 3, 1, 2))
        pooled = flow.nn.avg_pool2d(nchw, 6, 6, "VALID", "NCHW")  # [4, 3, 1, 1]
        again = flow.math.reduce_sum(nchw, (1, 2, 3))
        straight = flow.math.reduce_sum(scaled, (1, 2, 3))
        loss = flow.math.reduce_sum(pooled, (1, 2, 3)) + again * 2.0 + straight * 4.0
        flow.watch_diff(scaled, lambda value: seen.update(scaled=value))
        flow.watch_diff(nchw, lambda value: seen.update(nchw=value))
        flow.losses.add_loss(loss)
        return loss

    flow.train.CheckPoint().init()
    train(IMAGES).get()

    np.testing.assert_allclose(seen["nchw"], np.full((4, 3, 6, 6), 1 / 36 + 2), rtol=1e-5)
    np.testing.assert_allclose(seen["scaled"], np.full(IMAGES.shape, 1 / 36 + 6), rtol=1e-5)


def test_a_blob_that_the_loss_does_not_depend_on_is_named() -> None:
    @flow.function
    def train(images: Any = flow.FixedTensorDef(IMAGES.shape)) -> Any:  # noqa: B008
        _train()
        w = flow.get_variable("w", (1,), initializer=flow.ones_initializer())
        nchw = flow.transpose(images, (0, 3, 1, 2))
        flow.watch_diff(flow.nn.max_pool2d(nchw, 2, 2, "SAME", "NCHW"))
        flow.losses.add_loss(w * 1.0)
        return w

    with pytest.raises(MoxValueError, match="the losses of job train do not depend on <Blob"):
        flow.train.CheckPoint().init()


def test_a_watch_scope_fills_its_dicts_with_values_and_gradients() -> None:
    values: dict[str, Any] = {}
    gradients: dict[str, Any] = {}

    @flow.function
    def train(x: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        _train()
        with flow.watch_scope(values, gradients):
            w = flow.get_variable("w", (2,), initializer=flow.ones_initializer())
        loss = x * w
        flow.losses.add_loss(loss)
        return loss

    flow.train.CheckPoint().init()
    train(np.array([2, 4], np.float32)).get()

    assert [entry["blob"].tolist() for entry in values.values()] == [[1, 1]]
    assert [entry["blob"].tolist() for entry in gradients.values()] == [[2, 4]]
    assert next(iter(values.values()))["blob_def"].shape == (2,)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_watch_scope_sees_every_blob_that_is_made_inside(
    devices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.default().settings.values["gpu_device_num"] = devices
    values: dict[str, Any] = {}
    gradients: dict[str, Any] = {}
    x = np.array([[1, -2], [-3, 4], [5, 6], [-7, -8]], np.float32)
    w = flow.constant_initializer(3)

    @flow.function
    def train(x: Any = flow.FixedTensorDef((4, 2))) -> Any:  # noqa: B008
        _train()
        before = flow.get_variable("before", (1,), initializer=w)
        with flow.watch_scope(values, gradients), flow.deprecated.variable_scope("a"):
            scaled = flow.math.multiply(x * before, flow.get_variable("w", (2,), initializer=w))
            still = flow.get_variable("still", (1,), initializer=w, trainable=False)
            positive = flow.math.relu(scaled + still, name="mine")
            flow.math.argmax(positive)
            unused = flow.math.sign(x)
            loss = flow.math.reduce_sum(positive.with_broadcast_distribute(), 1)
        flow.losses.add_loss(flow.math.square(loss))
        return loss, unused

    flow.train.CheckPoint().init()
    train(x).get()

    scaled, positive = 9 * x, np.maximum(9 * x + 3, 0)
    loss = positive.sum(1)
    at_loss = 2 * loss
    at_positive = np.repeat(at_loss[:, None], 2, 1)
    at_scaled = at_positive * (positive > 0)
    wanted = [
        (3 * x, 3 * at_scaled),
        (np.full(2, 3), (at_scaled * 3 * x).sum(0)),
        (scaled, at_scaled),
        (np.full(1, 3), None),
        (9 * x + 3, at_scaled),
        (positive, at_positive),
        (positive.argmax(1), None),
        (np.sign(x), None),
        (loss, at_loss),
    ]
    assert len(values) == len(wanted)
    assert {"a-w/out", "a-still/out", "train/a-mine/Relu/out"} < set(values)
    for (name, entry), (value, slope) in zip(values.items(), wanted, strict=True):
        assert entry["blob_def"].logical_blob_name == name
        np.testing.assert_allclose(entry["blob"], value, 1e-6, err_msg=name)
        assert (name in gradients) == (slope is not None), name
        if slope is not None:
            np.testing.assert_allclose(gradients[name]["blob"], slope, 1e-5, err_msg=name)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_watch_scope_sees_variables_that_each_device_reads_for_its_part(
    devices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.default().settings.values["gpu_device_num"] = devices
    values: dict[str, Any] = {}

    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 2))) -> Any:  # noqa: B008
        with flow.watch_scope(values):
            return flow.layers.layer_norm(x, name="ln")

    flow.train.CheckPoint().init()
    job(np.zeros((4, 2), np.float32)).get()

    assert len(values) == 3
    assert values["ln-gamma/out"]["blob"].tolist() == [1, 1]
    assert values["ln-beta/out"]["blob"].tolist() == [0, 0]


def test_a_variable_has_its_name_in_all_jobs_and_outputs_have_names_of_their_own() -> None:
    seen: list[str] = []

    def job() -> Any:
        w = flow.get_variable("w", (4,), initializer=flow.ones_initializer())
        seen.append(w.logical_blob_name)
        seen.append(w.with_broadcast_distribute().logical_blob_name)
        return w

    for name in ("one", "two"):
        own = lambda: job()  # noqa: E731
        own.__name__ = name
        flow.function(own)

    flow.train.CheckPoint().init()

    assert seen == ["w/out"] * 4


def test_a_watched_blob_is_printed_behind_its_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        flow.watch(x, "x is")
        return x

    job(np.array([1, 2], np.float32)).get()

    assert capsys.readouterr().out == "x is: [1. 2.]\n"


def test_a_list_of_blobs_is_seen_by_one_call_of_the_function() -> None:
    values: list[Any] = []
    slopes: list[Any] = []

    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        _train()
        w = flow.get_variable("w", (2,), initializer=flow.constant_initializer(3.0))
        product = x * w
        flow.losses.add_loss(product)
        flow.watch([x, product], lambda *arrays: values.append([a.tolist() for a in arrays]))
        flow.watch_diff((product, w), lambda *arrays: slopes.append([a.tolist() for a in arrays]))
        return product

    flow.train.CheckPoint().init()
    for first in (1, 2):
        job(np.array([first, 5], np.float32)).get()

    assert values == [[[1, 5], [3, 15]], [[2, 5], [6, 15]]]
    assert slopes == [[[1, 1], [1, 5]], [[1, 1], [2, 5]]]


def test_a_list_of_blobs_is_printed_blob_by_blob(capsys: pytest.CaptureFixture[str]) -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2,))) -> Any:  # noqa: B008
        flow.watch([x, x + x], "see")
        return x

    job(np.array([1, 2], np.float32)).get()

    assert capsys.readouterr().out == "see: [1. 2.]\nsee: [2. 4.]\n"
