"""Half precision: losses keep their clamp, and training is that of float32 but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import moxing.flow as flow

LOGITS = np.array([[-6000, 6000], [1, -1], [0.5, 3], [-12, 4]], np.float16)
LABELS = np.array([0, 1, 1, 0], np.int32)


def _reference(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The losses of the samples, and the gradients of their mean at the logits."""
    x = logits.astype(np.float64)
    e = np.exp(x - x.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    rows = np.arange(len(x))
    ours = p[rows, LABELS]
    losses = -np.log(np.maximum(ours, 1e-20))
    slope = np.zeros_like(p)
    slope[rows, LABELS] = -1 / np.maximum(ours, 1e-20)
    return losses, (slope - (slope * p).sum(-1, keepdims=True)) * p


@pytest.mark.parametrize("fused", [True, False])
def test_saturated_losses_are_clamped_in_half_precision_too(fused: bool) -> None:
    seen: dict[str, np.ndarray] = {}

    @flow.function
    def job(
        x: Any = flow.FixedTensorDef(LOGITS.shape, flow.half),  # noqa: B008
        y: Any = flow.FixedTensorDef(LABELS.shape, flow.int32),  # noqa: B008
    ) -> Any:
        flow.config.train.primary_lr(0.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        one = flow.get_variable("w", (1,), flow.half, flow.ones_initializer())
        logits = x * one
        if fused:
            loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
        else:
            loss = flow.nn.sparse_cross_entropy(y, flow.nn.softmax(logits))
        flow.watch_diff(logits, lambda value: seen.update(slope=value.ndarray()))
        flow.losses.add_loss(loss)
        return loss

    flow.train.CheckPoint().init()
    # In half precision the probability of the last sample, e^-16, is no more than one digit.
    rows = slice(None) if fused else slice(3)
    losses, slopes = _reference(LOGITS)
    found = job(LOGITS, LABELS).get()

    assert found.dtype == np.float16
    np.testing.assert_allclose(found[rows], losses[rows], rtol=5e-3)
    np.testing.assert_allclose(seen["slope"][rows], slopes[rows], rtol=5e-3, atol=1e-3)
    assert np.isfinite(seen["slope"]).all()


@pytest.mark.parametrize(
    ("conf", "scale"),
    [
        *(("naive_conf", 1), ("momentum_conf", 128), ("adam_conf", 128)),
        *(("rmsprop_conf", 1), ("lazy_adam_conf", 1)),
    ],
)
def test_training_in_half_precision_follows_that_in_float32(conf: str, scale: int) -> None:
    chance = np.random.default_rng(3)
    images = chance.normal(size=(6, 4)).astype(np.float16)
    labels = np.array([0, 1, 2, 0, 1, 2], np.int32)

    def losses(dtype: Any, kind: Any, factor: int) -> np.ndarray:
        flow.clear_default_session()

        @flow.function
        def train(
            x: Any = flow.FixedTensorDef((6, 4), dtype),  # noqa: B008
            y: Any = flow.FixedTensorDef((6,), flow.int32),  # noqa: B008
        ) -> Any:
            flow.config.train.primary_lr(0.05)
            flow.config.train.model_update_conf({conf: {}})
            flow.config.train.loss_scale_factor(factor)
            logits = flow.layers.dense(x, 3, name="fc")
            loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            flow.losses.add_loss(loss)
            return loss

        flow.train.CheckPoint().init()
        return np.stack([train(images.astype(kind), labels).get() for _ in range(10)])

    wanted = losses(flow.float, np.float32, 1)
    found = losses(flow.half, np.float16, scale)

    assert found.dtype == np.float16
    assert wanted[-1].mean() < wanted[0].mean() - 0.02
    np.testing.assert_allclose(found, wanted, rtol=0.02, atol=0.01)


def test_small_gradients_and_none_keep_moments_of_half_variables_whole() -> None:
    """The square of 1e-4 is 0 in half precision, and so is the default epsilon."""

    @flow.function
    def train(x: Any = flow.FixedTensorDef((1, 2), flow.half)) -> Any:  # noqa: B008
        flow.config.train.primary_lr(0.5)
        flow.config.train.model_update_conf({"adam_conf": {"do_bias_correction": True}})
        w = flow.get_variable("w", (2,), flow.half, flow.ones_initializer())
        flow.losses.add_loss(flow.math.reduce_sum(x * w, 1))
        return w

    flow.train.CheckPoint().init()
    x = np.array([[1e-4, 0]], np.float16)
    found = [train(x).get().tolist() for _ in range(3)]

    # Each step is the rate in the direction of the gradient.
    np.testing.assert_allclose(found, [[1, 1], [0.5, 1], [0, 1]], atol=2e-3)
