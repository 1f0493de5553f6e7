"""LARS against algorithm 1 of arXiv:1708.03888 in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.optimizer import OptimizerWrapper, get_optimizer_fn, get_optimizer_wrapper_fn

SHAPES = {"kernel": (3, 2), "bias": (2,)}
START = {"kernel": np.arange(6.0).reshape(3, 2) / 3 - 0.5, "bias": np.array([0.3, -0.2])}


def lars(rate: float = 2.0, momentum: float = 0.9, **kwargs: Any) -> Any:
    def make() -> tf.train.Optimizer:
        inner = get_optimizer_fn("momentum", rate, momentum=momentum)()
        return get_optimizer_wrapper_fn("lars", inner, **kwargs)()

    return make


def reference(
    steps: list[dict[str, np.ndarray]],
    ratio: float = 0.001,
    decay: float = 0.0001,
    skip: bool = True,
    rate: float = 2.0,
    momentum: float = 0.9,
) -> dict[str, np.ndarray]:
    weights = {name: value.astype(np.float64) for name, value in START.items()}
    velocity = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    for step in steps:
        for name, w in weights.items():
            g = step[name].astype(np.float64)
            if not (skip and w.ndim <= 1):
                local = ratio * np.linalg.norm(w) / (np.linalg.norm(g) + decay * np.linalg.norm(w))
                g = local * (g + decay * w)
            velocity[name] = momentum * velocity[name] + g
            weights[name] = w - rate * velocity[name]
    return weights


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({}, {}),
        ({"ratio": 0.02, "weight_decay": 0.1}, {"ratio": 0.02, "decay": 0.1}),
        ({"weight_decay": 0.0, "skip_vectors": False}, {"decay": 0.0, "skip": False}),
    ],
)
def test_the_rule(
    kwargs: dict[str, Any], expected: dict[str, Any], follow: Any, gradients: Any
) -> None:
    steps = gradients(SHAPES, 5)
    seen = follow(lars(**kwargs), START, steps)
    wanted = reference(steps, **expected)
    for name in SHAPES:
        np.testing.assert_allclose(seen.weights[-1][name], wanted[name], rtol=1e-5)
    assert seen.global_steps == [1, 2, 3, 4, 5]
    assert set(seen.slots[-1]) == {"kernel/momentum", "bias/momentum"}


def test_excluded_weights_keep_their_gradients(follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, 3)
    seen = follow(lars(rate=0.1, exclude_patterns=["^ker"]), START, steps)
    velocity, weights = np.zeros((3, 2)), START["kernel"].copy()
    for step in steps:
        velocity = 0.9 * velocity + step["kernel"]
        weights -= 0.1 * velocity
    np.testing.assert_allclose(seen.weights[-1]["kernel"], weights, rtol=1e-5)


def test_a_norm_of_zero_leaves_the_gradient_as_it_is(follow: Any) -> None:
    seen = follow(lars(rate=0.5, momentum=0.0), {"w": np.zeros((2, 1))}, [{"w": np.ones((2, 1))}])
    np.testing.assert_array_equal(seen.weights[-1]["w"], [[-0.5], [-0.5]])
    still = follow(lars(weight_decay=0.0), {"w": np.ones((2, 1))}, [{"w": np.zeros((2, 1))}])
    np.testing.assert_array_equal(still.weights[-1]["w"], [[1.0], [1.0]])


def test_sparse_gradients_count_repeated_rows() -> None:
    rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
    weights = []
    for index in ([0, 2, 2], None):
        with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
            table = tf.get_variable("table", initializer=rows)
            if index is None:
                loss = tf.reduce_sum(table * [[1.0], [0.0], [2.0]])
            else:
                loss = tf.reduce_sum(tf.gather(table, index))
            optimizer = lars(ratio=0.1)()
            (grad, _), *_ = optimizer.compute_gradients(loss)
            assert isinstance(grad, tf.IndexedSlices) == (index is not None)
            train_op = optimizer.minimize(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(train_op)
                weights.append(session.run(table))
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-6)
    assert not np.array_equal(weights[0], rows)


def test_float16_gradients_do_not_overflow_the_norm(follow: Any) -> None:
    start = np.full((64, 64), 200.0)  # the sum of squares is far beyond float16
    seen = follow(
        lars(rate=1.0, momentum=0.0, ratio=0.1, weight_decay=0.0),
        {"w": start},
        [{"w": np.full((64, 64), 10.0)}],
        np.float16,
    )
    np.testing.assert_allclose(seen.weights[-1]["w"], start - 0.1 * 200, rtol=2e-3)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        (
            {"exclude_patterns": ["("]},
            "lars: '(' is no regular expression: missing ), unterminated subpattern at position 0.",
        ),
        (
            {"exclude_patterns": "bias"},
            "lars: the patterns are 'bias'; give a list of patterns.",
        ),
        ({"ratio": 0}, "lars: ratio is 0; it must be above 0."),
        ({"weight_decay": -1}, "lars: weight_decay is -1; it must be at least 0."),
    ],
)
def test_bad_numbers(kwargs: dict[str, Any], message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(MoxValueError) as caught:
        lars(**kwargs)()
    assert str(caught.value) == message


def test_it_is_a_wrapper_around_its_optimizer() -> None:
    inner = tf.train.GradientDescentOptimizer(0.1)
    outer = get_optimizer_wrapper_fn("lars", inner)()
    assert isinstance(outer, OptimizerWrapper)
    assert outer.optimizer is inner
