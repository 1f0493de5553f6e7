"""Gradient accumulation: equal to one step with the averaged gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.parallel import self_exchange
from moxing.engine.parallel.reduce import AllReduce
from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.optimizer import get_optimizer_fn, get_optimizer_wrapper_fn

SHAPES = {"kernel": (3, 2), "bias": (2,)}
START = {name: np.ones(shape) for name, shape in SHAPES.items()}


def batched(num_batches: int, name: str = "momentum", rate: Any = 0.1, **kwargs: Any) -> Any:
    def make() -> tf.train.Optimizer:
        inner = get_optimizer_fn(name, rate, **kwargs)()
        return get_optimizer_wrapper_fn("batch_gradients", inner, num_batches=num_batches)()

    return make


def averages(steps: list[dict[str, np.ndarray]], size: int) -> list[dict[str, np.ndarray]]:
    return [
        {name: np.mean([step[name] for step in steps[at : at + size]], axis=0) for name in SHAPES}
        for at in range(0, len(steps) - size + 1, size)
    ]


@pytest.mark.usefixtures("control_flow")
@pytest.mark.parametrize(
    ("name", "kwargs"), [("sgd", {}), ("momentum", {"momentum": 0.9}), ("adam", {})]
)
def test_equals_large_batches(
    name: str, kwargs: dict[str, Any], follow: Any, gradients: Any
) -> None:
    steps = gradients(SHAPES, 8)
    seen = follow(batched(3, name, **kwargs), START, steps)
    large = follow(get_optimizer_fn(name, 0.1, **kwargs), START, averages(steps, 3))
    for at, weights in enumerate(seen.weights):
        updates = (at + 1) // 3
        for key in SHAPES:
            wanted = large.weights[updates - 1][key] if updates else START[key]
            np.testing.assert_allclose(weights[key], wanted, rtol=1e-5)
    assert seen.global_steps == [1, 2, 3, 4, 5, 6, 7, 8]


def test_sums_are_cleared_after_an_update(follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, 3)
    seen = follow(batched(2, momentum=0.9), START, steps)
    totals = [slots["kernel/gradient_sum"] for slots in seen.slots]
    np.testing.assert_array_equal(totals[0], steps[0]["kernel"])
    np.testing.assert_array_equal(totals[1], np.zeros((3, 2)))
    np.testing.assert_array_equal(totals[2], steps[2]["kernel"])


def test_names_of_variables(follow: Any, gradients: Any) -> None:
    seen = follow(batched(2, momentum=0.9), START, gradients(SHAPES, 1))
    assert seen.variables == [
        "batch_gradients/position",
        "bias",
        "bias/Momentum",
        "bias/batch_gradients",
        "global_step",
        "kernel",
        "kernel/Momentum",
        "kernel/batch_gradients",
    ]


def test_the_learning_rate_is_read_at_the_update(follow: Any) -> None:
    def rate() -> tf.Tensor:
        return tf.cast(1 + tf.train.get_or_create_global_step() // 2, tf.float32)

    seen = follow(batched(2, "sgd", rate), {"w": [0.0]}, [{"w": [1.0]}] * 4)
    assert [step["w"][0] for step in seen.weights] == [0.0, -1.0, -1.0, -3.0]


def test_one_batch_is_the_optimizer_itself(follow: Any, gradients: Any) -> None:
    steps = gradients(SHAPES, 2)
    seen = follow(batched(1, momentum=0.9), START, steps)
    plain = follow(get_optimizer_fn("momentum", 0.1, momentum=0.9), START, steps)
    np.testing.assert_array_equal(seen.weights[-1]["kernel"], plain.weights[-1]["kernel"])
    assert seen.variables == plain.variables


@pytest.mark.usefixtures("control_flow")
def test_sparse_gradients() -> None:
    rows = np.ones((3, 2), np.float32)
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        table = tf.get_variable("table", initializer=rows)
        index = tf.placeholder(tf.int64, [None])
        loss = tf.reduce_sum(tf.gather(table, index))
        train_op = batched(2, "sgd")().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train_op, {index: [0, 0]})
            assert np.array_equal(session.run(table), rows)
            session.run(train_op, {index: [0, 2]})
            seen = session.run(table)
    np.testing.assert_allclose(seen, rows - 0.1 * np.array([[1.5], [0.0], [0.5]]), rtol=1e-6)


def test_lars_inside_sees_the_average(follow: Any, gradients: Any) -> None:
    def lars() -> tf.train.Optimizer:
        inner = get_optimizer_fn("momentum", 2.0, momentum=0.9)()
        return get_optimizer_wrapper_fn("lars", inner, ratio=0.01)()

    def nested() -> tf.train.Optimizer:
        return get_optimizer_wrapper_fn("batch_gradients", lars(), num_batches=2)()

    steps = gradients(SHAPES, 6)
    seen = follow(nested, START, steps)
    large = follow(lars, START, averages(steps, 2))
    for name in SHAPES:
        np.testing.assert_allclose(seen.weights[-1][name], large.weights[-1][name], rtol=1e-5)
    assert {"kernel/momentum", "kernel/gradient_sum"} <= set(seen.slots[-1])


def test_resuming_in_the_middle_loses_nothing(tmp_path: Path, gradients: Any) -> None:
    steps = gradients({"w": (2,)}, 5)

    def train(first: int, last: int, restore: str | None) -> tuple[np.ndarray, str]:
        with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
            var = tf.get_variable("w", initializer=np.ones(2, np.float32))
            feed = tf.placeholder(tf.float32, [2])
            optimizer = batched(3, "momentum", momentum=0.9)()
            train_op = optimizer.apply_gradients([(feed, var)])
            saver = tf.train.Saver()
            with tf.Session() as session:
                if restore:
                    saver.restore(session, restore)
                else:
                    session.run(tf.global_variables_initializer())
                for step in steps[first:last]:
                    session.run(train_op, {feed: step["w"]})
                return session.run(var), saver.save(session, str(tmp_path / f"{last}"))

    whole, _ = train(0, 5, None)
    _, path = train(0, 2, None)
    resumed, _ = train(2, 5, path)
    assert np.array_equal(whole, resumed)
    assert not np.array_equal(whole, np.ones(2))


@pytest.mark.usefixtures("control_flow")
def test_workers_exchange_only_where_they_apply() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        self_exchange.offer(AllReduce(1))
        var = tf.get_variable("w", initializer=np.ones(2, np.float32))
        optimizer = batched(3, "sgd")()
        assert optimizer.meets_others
        assert not batched(1, "sgd")().meets_others
        train_op = optimizer.apply_gradients([(tf.ones([2]), var)])
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sent = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(6):
                traced = tf.RunMetadata()
                session.run(train_op, options=options, run_metadata=traced)
                names = [
                    n.timeline_label for d in traced.step_stats.dev_stats for n in d.node_stats
                ]
                sent.append(any("= CollectiveReduceV2(" in name for name in names))
            np.testing.assert_allclose(session.run(var), [0.8, 0.8], rtol=1e-6)
    assert sent == [False, False, True, False, False, True]


@pytest.mark.parametrize(
    ("num_batches", "error", "message"),
    [
        (0, MoxValueError, "num_batches is 0; it must be at least 1."),
        (2.0, MoxTypeError, "num_batches is 2.0 (float); it must be a whole number."),
        (True, MoxTypeError, "num_batches is True (bool); it must be a whole number."),
    ],
)
def test_bad_num_batches(num_batches: Any, error: type[Exception], message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(error) as caught:
        batched(num_batches, "sgd")()
    assert str(caught.value) == f"batch_gradients: {message}"


def test_no_gradient_at_all_is_an_error() -> None:
    with tf.Graph().as_default():
        var = tf.get_variable("w", [2])
        with pytest.raises(MoxValueError) as caught:
            batched(2, "sgd")().apply_gradients([(None, var)])
    assert str(caught.value) == (
        "batch_gradients: no variable has a gradient (variables: w). "
        "Does the loss depend on a trainable variable?"
    )
