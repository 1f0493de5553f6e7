"""What a train job returns and watches is of before its update, whatever the gradients need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.flow.runtime import session

ONE = flow.constant_initializer(1.0)
X = np.ones((4, 3), np.float32)


def _train(optimizer: str) -> None:
    flow.config.train.primary_lr(1.0)
    flow.config.train.model_update_conf({optimizer: {}})


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("optimizer", ["naive_conf", "momentum_conf", "adam_conf"])
def test_values_are_of_before_the_update_where_no_gradient_needs_the_variable(
    devices: Callable[[int], None], count: int, optimizer: str
) -> None:
    devices(count)
    watched: list[Any] = []

    @flow.function
    def train(x: Any = flow.FixedTensorDef((4, 3))) -> Any:  # noqa: B008
        _train(optimizer)
        w = flow.get_variable("w", (3, 1), initializer=ONE)
        b = flow.get_variable("b", (1,), initializer=ONE)
        flow.watch(b, lambda value: watched.append(value.tolist()))
        y = flow.reshape(flow.nn.bias_add(flow.matmul(x, w), b), (4,))
        flow.losses.add_loss(y)
        return y, b, w, b * 2.0

    flow.train.CheckPoint().init()
    found = [train(X).get() for _ in range(20)]

    assert found[0][0].tolist() == [4, 4, 4, 4]
    assert found[0][1].tolist() == [1]
    for index, (y, b, w, twice) in enumerate(found):
        np.testing.assert_allclose(y, np.full(4, w.sum() + b[0]), rtol=1e-5)
        assert twice.tolist() == [2 * b[0]]
        assert watched[index] == b.tolist()
        if optimizer == "naive_conf":
            assert b.tolist() == [1 - index]


@pytest.mark.parametrize("count", [2, 3])
def test_variables_in_parts_are_read_before_their_update(
    devices: Callable[[int], None], count: int
) -> None:
    devices(count)

    @flow.function
    def train(x: Any = flow.FixedTensorDef((6, 2))) -> Any:  # noqa: B008
        _train("naive_conf")
        split = flow.distribute.split(0)
        y = flow.layers.dense(
            x, 3, None, True, ONE, ONE, name="fc", model_distribute=split
        )  # 6 rows of 3.
        flow.losses.add_loss(y)
        return y, flow.get_variable("fc-weight"), flow.get_variable("fc-bias")

    flow.train.CheckPoint().init()
    x = np.ones((6, 2), np.float32)
    for _ in range(10):
        y, weight, bias = train(x).get()
        np.testing.assert_allclose(y, x @ weight.T + bias, rtol=1e-5)


def test_averages_of_batch_norm_are_returned_as_they_were() -> None:
    @flow.function
    def train(x: Any = flow.FixedTensorDef((4, 3))) -> Any:  # noqa: B008
        _train("naive_conf")
        y = flow.layers.batch_normalization(x, momentum=0.5, name="bn")
        flow.losses.add_loss(y)
        return flow.get_variable("bn-moving_mean"), flow.get_variable("bn-beta")

    flow.train.CheckPoint().init()
    for index in range(5):
        mean, beta = train(X).get()
        np.testing.assert_allclose(mean, np.full(3, 1 - 0.5**index), rtol=1e-5)
        np.testing.assert_allclose(beta, np.full(3, -index / 3), rtol=1e-4)


@pytest.mark.parametrize("count", [1, 2])
def test_on_one_device_an_update_waits_for_all_uses_so_that_it_copies_no_variable(
    devices: Callable[[int], None], count: int
) -> None:
    """TensorFlow copies a variable that it updates while a value read of the variable is in use."""
    devices(count)

    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 3))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(0.1)
        flow.config.train.model_update_conf({"naive_conf": {}})
        x = flow.layers.dense(x, 3, name="first", use_bias=False)
        loss = flow.math.reduce_sum(flow.layers.dense(x, 2, name="second", use_bias=False), 1)
        flow.losses.add_loss(loss)
        return loss

    flow.train.CheckPoint().init()
    job(np.ones((4, 3), np.float32)).get()

    graph = session.default().graph
    updates = {
        op.inputs[0].op.name: {other.name for other in op.control_inputs}
        for op in graph.get_operations()
        if op.type == "ResourceApplyGradientDescent"
    }
    reads = [op for op in graph.get_operations() if op.type == "ReadVariableOp"]
    # The product with the second weight, and its gradient for what came from the first layer.
    (second,) = (n for n in updates if "second" in n)
    products = {
        use.name
        for read in reads
        if read.inputs[0].op.name == second and read.name.startswith("job/")
        for identity in read.outputs[0].consumers()
        for use in (identity.outputs[0].consumers() if identity.type == "Identity" else [identity])
        if use.type == "MatMul"
    }
    assert len(products) >= 2
    assert (products <= updates[second]) is (count == 1)
