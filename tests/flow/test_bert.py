"""A program of BERT's shape: embeddings, attention, masked words, tied weights, Adam, warm-up."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow

BATCH, LENGTH, WORDS, SIZE, HEADS, MASKED = 4, 6, 20, 8, 2, 3
CHANCE = np.random.default_rng(7)
IDS = CHANCE.integers(0, WORDS, (BATCH, LENGTH)).astype(np.int32)
MASK = (np.arange(LENGTH) < np.array([6, 5, 4, 6])[:, None]).astype(np.int32)
PLACES = CHANCE.integers(0, 4, (BATCH, MASKED)).astype(np.int32)
LABELS = CHANCE.integers(0, WORDS, (BATCH, MASKED)).astype(np.int32)
WEIGHTS = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 1, 0]], np.float32)
NEXT = np.array([0, 1, 1, 0], np.int32)
GIVEN = (IDS, MASK, PLACES, LABELS, WEIGHTS, NEXT)


def _dense(x: Any, units: int, name: str, activation: Any = None) -> Any:
    first = flow.random_normal_initializer(0.0, 0.3)
    return flow.layers.dense(x, units, activation, kernel_initializer=first, name=name)


def _norm(x: Any, name: str) -> Any:
    return flow.layers.layer_norm(x, begin_norm_axis=-1, begin_params_axis=-1, name=name)


def _attention(x: Any, bias: Any) -> Any:
    def heads(name: str) -> Any:
        split = flow.reshape(_dense(x, SIZE, name), [-1, LENGTH, HEADS, SIZE // HEADS])
        return flow.transpose(split, perm=[0, 2, 1, 3])

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = flow.matmul(query, key, transpose_b=True) * (1 / math.sqrt(SIZE / HEADS)) + bias
    mixed = flow.matmul(flow.nn.softmax(scores), value)
    return flow.reshape(flow.transpose(mixed, perm=[0, 2, 1, 3]), [-1, SIZE])


def _model(ids: Any, mask: Any, places: Any, labels: Any, weights: Any, following: Any) -> Any:
    def table(name: str, shape: tuple[int, ...]) -> Any:
        first = flow.truncated_normal_initializer(0.0, 0.5)
        return flow.get_variable(name, shape, initializer=first)

    with flow.deprecated.variable_scope("bert"):
        words = table("words", (WORDS, SIZE))
        x = flow.gather(words, ids) + table("positions", (1, LENGTH, SIZE))
        x = flow.reshape(_norm(x, "norm"), [-1, SIZE])
        ones = flow.constant(1.0, flow.float, (BATCH, LENGTH, 1))
        row = flow.reshape(flow.cast(mask, flow.float), [-1, 1, LENGTH])
        bias = flow.reshape((flow.matmul(ones, row) - 1.0) * 10000.0, [-1, 1, LENGTH, LENGTH])
        x = _norm(_dense(_attention(x, bias), SIZE, "output") + x, "attended")
        inner = _dense(x, 4 * SIZE, "inner", flow.math.gelu)
        x = _norm(_dense(inner, SIZE, "outer") + x, "done")
        x = flow.reshape(x, [-1, LENGTH, SIZE])
        first = flow.reshape(flow.slice(x, [None, 0, 0], [None, 1, -1]), [-1, SIZE])
        pooled = _dense(first, SIZE, "pooler", flow.math.tanh)
    masked = flow.reshape(flow.gather(x, places, axis=1, batch_dims=1), [-1, SIZE])
    logits = flow.matmul(masked, words, transpose_b=True)
    each = flow.nn.sparse_softmax_cross_entropy_with_logits(flow.reshape(labels, [-1]), logits)
    total = flow.math.reduce_sum(flow.reshape(each, [-1, MASKED]) * weights, axis=[-1])
    of_words = total / (flow.math.reduce_sum(weights, axis=[-1]) + 1e-5)
    related = flow.nn.softmax(_dense(pooled, 2, "related"))
    return flow.math.add(of_words, flow.nn.sparse_cross_entropy(following, related))


def _job() -> Any:
    def whole(shape: tuple[int, ...], dtype: Any = flow.int32) -> Any:
        return flow.FixedTensorDef(shape, dtype)

    @flow.function
    def pretrain(
        ids: Any = whole(IDS.shape),  # noqa: B008
        mask: Any = whole(MASK.shape),  # noqa: B008
        places: Any = whole(PLACES.shape),  # noqa: B008
        labels: Any = whole(LABELS.shape),  # noqa: B008
        weights: Any = whole(WEIGHTS.shape, flow.float),  # noqa: B008
        following: Any = whole(NEXT.shape),  # noqa: B008
    ) -> Any:
        flow.config.train.primary_lr(0.02)
        flow.config.train.weight_l2(1e-4)
        flow.config.train.model_update_conf(
            {
                "adam_conf": {"epsilon": 1e-6},
                "learning_rate_decay": {
                    "polynomial_conf": {"decay_batches": 100, "end_learning_rate": 0.0}
                },
                "warmup_conf": {"linear_conf": {"warmup_batches": 4, "start_multiplier": 0}},
                "clip_conf": {"clip_by_global_norm": {"clip_norm": 1.0}},
            }
        )
        loss = _model(ids, mask, places, labels, weights, following)
        flow.losses.add_loss(loss)
        return loss

    return pretrain


def _reference(value: Callable[..., np.ndarray]) -> np.ndarray:
    """The losses of the samples, in numpy, from saved values."""

    def dense(x: np.ndarray, units: int, name: str) -> np.ndarray:
        return x @ value(f"{name}-weight", units, -1).T + value(f"{name}-bias", units)

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * value(f"{name}-gamma", SIZE) + value(f"{name}-beta", SIZE)

    def softmax(x: np.ndarray) -> np.ndarray:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    words = value("bert-words", WORDS, SIZE)
    x = norm(words[IDS] + value("bert-positions", 1, LENGTH, SIZE), "bert-norm")
    mixed = []
    query, key, values = (dense(x, SIZE, f"bert-{n}") for n in ("query", "key", "value"))
    for head in range(HEADS):
        own = slice(head * SIZE // HEADS, (head + 1) * SIZE // HEADS)
        scores = np.einsum("bqd,bkd->bqk", query[..., own], key[..., own])
        scores = scores / math.sqrt(SIZE / HEADS) + (MASK[:, None, :] - 1) * 10000.0
        mixed.append(softmax(scores) @ values[..., own])
    x = norm(dense(np.concatenate(mixed, -1), SIZE, "bert-output") + x, "bert-attended")
    inner = dense(x, 4 * SIZE, "bert-inner")
    inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
    x = norm(dense(inner, SIZE, "bert-outer") + x, "bert-done")
    p = softmax(np.take_along_axis(x, PLACES[..., None], 1) @ words.T)
    each = -np.log(np.take_along_axis(p, LABELS[..., None], 2)[..., 0])
    related = softmax(dense(np.tanh(dense(x[:, 0], SIZE, "bert-pooler")), 2, "related"))
    of_words = (each * WEIGHTS).sum(-1) / (WEIGHTS.sum(-1) + 1e-5)
    return of_words - np.log(related[np.arange(BATCH), NEXT])


@pytest.mark.slow
def test_losses_are_those_of_numpy_and_the_same_on_any_number_of_devices(
    tmp_path: Path, devices: Callable[[int], None]
) -> None:
    saved, losses = tmp_path / "first", {}
    for count in (1, 2):
        devices(count)
        job, point = _job(), flow.train.CheckPoint()
        if count == 1:
            point.init()
            point.save(str(saved))
        point.load(str(saved))
        losses[count] = np.stack([job(*GIVEN).get() for _ in range(20)])

    def value(name: str, *shape: int) -> np.ndarray:
        return np.fromfile(saved / name / "out", "<f4").reshape(shape).astype(np.float64)

    np.testing.assert_allclose(losses[1][0], _reference(value), rtol=1e-4)
    # Adam turns rounding at small gradients into steps, so later losses drift apart.
    np.testing.assert_allclose(losses[2][:5], losses[1][:5], rtol=1e-3)
    assert losses[1][-1].mean() < 0.5 * losses[1][0].mean()
    assert losses[2][-1].mean() == pytest.approx(losses[1][-1].mean(), rel=0.2)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_each_device_adds_its_own_part_of_a_bias_of_the_whole(
    devices: Callable[[int], None], count: int
) -> None:
    """To a scaled product, which TensorFlow fuses with what is added to it."""
    devices(count)
    shape, bias = (4, 2, 3, 4), CHANCE.normal(size=(4, 1, 3, 3)).astype(np.float32)

    @flow.function
    def job(
        x: Any = flow.FixedTensorDef(shape),  # noqa: B008
        bias: Any = flow.FixedTensorDef(bias.shape, batch_axis=None),  # noqa: B008
    ) -> Any:
        return flow.matmul(x, x, transpose_b=True) * 0.5 + bias

    @flow.function
    def dynamic(
        x: Any = flow.FixedTensorDef((4, 3)),  # noqa: B008
        y: Any = flow.input_blob_def((4, 3), is_dynamic=True),  # noqa: B008
    ) -> Any:
        return x + y

    ones = np.ones((4, 3), np.float32)
    y = CHANCE.normal(size=(4, 3)).astype(np.float32)
    np.testing.assert_allclose(dynamic(ones, y).get(), ones + y)
    x = CHANCE.normal(size=shape).astype(np.float32)
    wanted = x @ x.transpose(0, 1, 3, 2) * 0.5 + bias
    np.testing.assert_allclose(job(x, bias).get(), wanted, rtol=1e-4, atol=1e-5)
