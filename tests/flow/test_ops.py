"""Operations against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxTypeError, MoxValueError

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -6.0]], np.float32)
P = np.abs(X)
I32 = np.array([2, 0], np.int32)


def _run(function: Callable[..., Any], *arrays: np.ndarray) -> Any:
    definitions = [flow.FixedTensorDef(a.shape, flow_type(a)) for a in arrays]
    if len(arrays) == 1:

        def one(x: Any = definitions[0]) -> Any:
            return function(x)

        return flow.function(one)(*arrays).get()

    def two(x: Any = definitions[0], y: Any = definitions[1]) -> Any:
        return function(x, y)

    return flow.function(two)(*arrays).get()


def flow_type(array: np.ndarray) -> Any:
    return {"float32": flow.float, "int32": flow.int32}[array.dtype.name]


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


UNARY: list[tuple[Any, Any, np.ndarray]] = [
    (lambda x: flow.math.relu(x), np.maximum(X, 0), X),
    (lambda x: flow.math.sigmoid(x), 1 / (1 + np.exp(-X)), X),
    (lambda x: flow.math.tanh(x), np.tanh(X), X),
    (lambda x: flow.math.sqrt(x), np.sqrt(P), P),
    (lambda x: flow.math.rsqrt(x), 1 / np.sqrt(P), P),
    (lambda x: flow.math.square(x), X * X, X),
    (lambda x: flow.math.reduce_sum(x), X.sum().reshape(1), X),
    (lambda x: flow.math.reduce_mean(x, -1), X.mean(-1), X),
    (lambda x: flow.math.reduce_sum(x, [0], keepdims=True), X.sum(0, keepdims=True), X),
    (lambda x: flow.math.less(x, 1.0), X < 1, X),
    (lambda x: flow.math.top_k(x, 2), np.argsort(-X, -1)[:, :2], X),
    (lambda x: 1.0 - x / 2.0 + 3 * x, 1 - X / 2 + 3 * X, X),
    (lambda x: flow.transpose(x, (1, 0)), X.T, X),
    (lambda x: flow.reshape(x, (3, -1)), X.reshape(3, 2), X),
    (lambda x: flow.slice(x, [None, 1], [None, -1]), X[:, 1:], X),
    (lambda x: flow.concat([x, x], -1), np.concatenate([X, X], -1), X),
    (lambda x: flow.stack([x, x], 1), np.stack([X, X], 1), X),
    (lambda x: flow.squeeze(flow.expand_dims(x, 1)), X, X),
    (lambda x: flow.pad(x, [[0, 1], [1, 0]], 2), np.pad(X, [[0, 1], [1, 0]], constant_values=2), X),
    (lambda x: flow.clip_by_value(x, -1, 2), np.clip(X, -1, 2), X),
    (lambda x: flow.argsort(x), np.argsort(X, -1), X),
    (lambda x: flow.cast(x, flow.int32), X.astype(np.int32), X),
    (lambda x: flow.one_hot(x, 3), np.eye(3)[I32], I32),
    (lambda x: flow.nn.softmax(x), _softmax(X), X),
    (lambda x: flow.nn.dropout(x, rate=0.5), X, X),  # In a predict job.
    (lambda x: flow.zeros_like(x), np.zeros_like(X), X),
]


@pytest.mark.parametrize("case", range(len(UNARY)))
def test_operations_of_one_blob(case: int) -> None:
    function, wanted, given = UNARY[case]

    np.testing.assert_allclose(_run(function, given), wanted, rtol=1e-5, atol=1e-6)


def test_operations_of_two_blobs() -> None:
    np.testing.assert_allclose(
        _run(lambda x, y: flow.matmul(x, y, transpose_b=True), X, P), X @ P.T, rtol=1e-5
    )
    flow.clear_default_session()
    np.testing.assert_array_equal(_run(lambda x, y: flow.gather(x, y, axis=-1), X, I32), X[:, I32])
    flow.clear_default_session()
    sums = _run(lambda x, y: flow.unsorted_segment_sum(x, y, 3), X, I32)
    np.testing.assert_array_equal(sums, [X[1], [0, 0, 0], X[0]])


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
def test_pools_leave_padding_out_of_means(data_format: str) -> None:
    image = np.arange(9, dtype=np.float32).reshape(1, 3, 3)
    image = image[:, None] if data_format == "NCHW" else image[..., None]

    found = _run(lambda x: flow.nn.avg_pool2d(x, 2, 2, "SAME", data_format), image)

    assert found.reshape(2, 2).tolist() == [[2, 3.5], [6.5, 8]]


def test_batch_normalization_moves_its_averages_in_train_jobs_only() -> None:
    definition = flow.FixedTensorDef(X.shape)

    @flow.function
    def train(x: Any = definition) -> Any:
        flow.config.train.primary_lr(0.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        y = flow.layers.batch_normalization(x, momentum=0.9, epsilon=1e-3, name="bn")
        flow.losses.add_loss(flow.math.reduce_sum(y, 1))
        return y

    @flow.function
    def predict(x: Any = definition) -> Any:
        return flow.layers.batch_normalization(x, momentum=0.9, epsilon=1e-3, name="bn")

    flow.train.CheckPoint().init()
    trained, predicted = train(X).get(), predict(X).get()

    mean, variance = X.mean(0), X.var(0)
    np.testing.assert_allclose(trained, (X - mean) / np.sqrt(variance + 1e-3), rtol=1e-4)
    moved = (X - 0.1 * mean) / np.sqrt(0.9 + 0.1 * variance + 1e-3)
    np.testing.assert_allclose(predicted, moved, rtol=1e-4)


def test_mistakes_in_arguments_are_named() -> None:
    with pytest.raises(MoxValueError, match="rate=None; it must be in"):
        _run(lambda x: flow.nn.dropout(x), X)
    flow.clear_default_session()
    with pytest.raises(MoxTypeError, match=r"flow.reshape takes blobs, and was given \[1\]"):
        _run(lambda x: flow.reshape([1], (1,)), X)  # pyright: ignore[reportArgumentType]
    flow.clear_default_session()
    with pytest.raises(MoxValueError, match=r"\(2, 3\) has no shape \(4, -1\)"):
        _run(lambda x: flow.reshape(x, (4, -1)), X)
