"""The numbers that operations without a name take, as in the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.flow.trace import context

F = flow.float32
ACT = flow.keras.activations.relu
# Calls, and the numbers that each took in the original of November 2019, of March and of June 2020:
# counted there by running the original's Python code. None: the call was not there yet.
COUNTS: list[tuple[Callable[..., Any], tuple[int | None, int | None, int | None]]] = [
    (lambda s: flow.layers.dense(s.x, 4), (1, 1, 1)),
    (lambda s: flow.layers.dense(s.x, 4, name="d"), (0, 0, 0)),
    (lambda s: flow.layers.dense(s.deep, 4), (3, 3, 3)),
    (lambda s: flow.layers.dense(s.deep, 4, name="d"), (2, 2, 2)),
    (lambda s: flow.layers.dense(s.x, 4, activation=ACT), (2, 1, 1)),
    (lambda s: flow.layers.conv2d(s.image, 4), (None, 2, 2)),
    (lambda s: flow.layers.conv2d(s.image, 4, activation=ACT), (None, 2, 2)),
    (lambda s: flow.layers.conv2d(s.image, 4, name="c"), (None, 0, 0)),
    (lambda s: flow.layers.batch_normalization(s.image), (1, 1, 1)),
    (
        lambda s: flow.layers.batch_normalization(s.image, center=False, scale=False),
        (None, None, 3),
    ),
    (lambda s: flow.layers.layer_norm(s.x), (1, 1, 1)),
    (lambda s: flow.nn.conv2d(s.image, s.filters, 1, "SAME", "NCHW"), (1, 1, 1)),
    (lambda s: flow.nn.conv2d(s.image, s.filters, 1, "SAME", "NCHW", name="c"), (0, 0, 0)),
    (lambda s: flow.nn.compat_conv2d(s.image, s.filters, 1, "SAME", "NCHW"), (None, None, 2)),
    (lambda s: flow.nn.compat_conv2d(s.image, s.filters, 1, "VALID", "NCHW"), (None, None, 1)),
    (lambda s: flow.nn.bias_add(s.x, s.bias), (1, 1, 1)),
    (lambda s: flow.nn.max_pool2d(s.image, 2, 2, "VALID", "NCHW"), (1, 1, 1)),
    (lambda s: flow.nn.softmax(s.x), (1, 1, 1)),
    (lambda s: flow.nn.softmax(s.deep, axis=1), (1, 1, 3)),
    (lambda s: flow.nn.sparse_softmax_cross_entropy_with_logits(s.labels, s.x), (2, 2, 1)),
    (lambda s: flow.nn.sparse_softmax_cross_entropy_with_logits(s.labels, s.x, "l"), (1, 2, 0)),
    (lambda s: flow.nn.sigmoid_cross_entropy_with_logits(s.y, s.x), (None, 1, 1)),
    (lambda s: flow.nn.dropout(s.x, rate=0.5), (1, 1, 2)),
    (lambda s: flow.nn.dropout(s.x, rate=0.5, name="d"), (0, 0, 1)),
    (lambda s: flow.reshape(s.x, (16,)), (1, 1, 1)),
    (lambda s: flow.reshape(s.x, (16,), name="r"), (1, 1, 0)),
    (lambda s: flow.transpose(s.x, perm=(1, 0)), (1, 1, 1)),
    (lambda s: flow.math.reduce_mean(s.x), (1, 2, 2)),
    (lambda s: flow.math.reduce_mean(s.x, axis=[1], name="m"), (0, 1, 1)),
    (lambda s: flow.matmul(s.x, s.y), (1, 1, 1)),
    (lambda s: flow.linalg.matmul(s.x, s.y, name="m"), (0, 0, 0)),
    (lambda s: flow.gather(s.x, s.labels), (1, 1, 2)),
    (lambda s: flow.concat([s.x, s.y], 0), (1, 1, 1)),
    (lambda s: flow.cast(s.x, F), (0, 0, 0)),
    (lambda s: flow.cast(s.x, flow.int32), (1, 1, 1)),
    (lambda s: flow.constant(1.0, dtype=F, shape=(1,)), (1, 1, 1)),
    (lambda s: flow.keras.activations.gelu(s.x), (1, 1, 1)),
    (lambda s: flow.math.tanh(s.x), (1, 1, 1)),
    (lambda s: s.x + s.y, (1, 1, 1)),
    (lambda s: s.x * 2.0, (1, 1, 1)),
    (lambda s: s.x - 1, (1, 1, 1)),
    (lambda s: 1.0 - s.x, (2, 2, 2)),
    (lambda s: flow.math.subtract(1.0, s.x), (2, 2, 2)),
    (lambda s: flow.one_hot(s.labels, 3), (None, None, 1)),
    (lambda s: flow.one_hot(s.labels, 3, axis=0), (None, None, 2)),
    (lambda s: flow.math.reduce_variance(s.x), (None, None, 7)),
    (lambda s: flow.math.reduce_std(s.x), (None, None, 8)),
    (lambda s: flow.math.reduce_logsumexp(s.x), (None, None, 3)),
    (lambda s: flow.math.squared_difference(s.x, s.y), (None, None, 2)),
    (lambda s: flow.math.squared_difference(s.x, s.y, name="s"), (None, None, 0)),
    (lambda s: flow.nonzero(s.x), (None, None, 3)),
    (lambda s: flow.argwhere(s.x), (None, None, 2)),
    (lambda s: flow.where(s.x, s.x, s.y), (None, 1, 1)),
    (lambda s: flow.where(s.x, s.x, s.bias), (None, None, 4)),
    (lambda s: flow.random.shuffle(s.x), (None, None, 3)),
    (lambda s: flow.watch(s.x, None), (1, 1, 1)),
    (lambda s: flow.FixedTensorDef((4, 4)), (None, 1, 1)),
    (lambda s: flow.get_variable("other", (2,), initializer=flow.zeros_initializer()), (0, 0, 0)),
    (lambda s: flow.losses.add_loss(flow.math.reduce_sum(s.y, name="sum")), (0, 0, 0)),
]


class _Blobs:
    """Blobs of a job, none of which takes a number."""

    def __init__(self, x: Any) -> None:
        def variable(name: str, *shape: int, dtype: Any = F) -> Any:
            initial = flow.zeros_initializer()
            return flow.get_variable(name, shape, dtype, initial, trainable=dtype == F)

        self.x, self.y, self.bias = x, variable("y", 4, 4), variable("b", 4)
        self.deep, self.image = variable("deep", 2, 4, 4), variable("image", 1, 4, 4, 4)
        self.filters = variable("filters", 4, 4, 2, 2)
        self.labels = variable("labels", 4, dtype=flow.int32)


def _train(config: Any) -> None:
    config.train.primary_lr(0.1)
    config.train.model_update_conf({"naive_conf": {}})


@pytest.mark.parametrize("revision", range(3), ids=["2019-11", "2020-03", "2020-06"])
def test_calls_take_the_numbers_that_they_took_in_the_original(revision: int) -> None:
    found = []

    define = flow.input_blob_def if revision == 0 else flow.FixedTensorDef

    def job(x: Any = define((4, 4))) -> Any:  # noqa: B008
        if revision == 0:
            _train(flow.config)
        blobs = _Blobs(x)
        for number, (call, counts) in enumerate(COUNTS):
            if counts[revision] is None:
                continue
            before = context.numbers.next
            with flow.deprecated.variable_scope(f"s{number}"):
                call(blobs)
            found.append((number, context.numbers.next - before))
        return x

    config = flow.FunctionConfig()
    _train(config)
    if revision == 0:
        flow.function(job)
    else:
        (flow.function, flow.global_function)[revision - 1](config)(job)
    flow.train.CheckPoint().init()

    assert found == [(i, c[revision]) for i, (_, c) in enumerate(COUNTS) if c[revision] is not None]


def test_inputs_results_and_jobs_share_one_counter() -> None:
    @flow.function
    def first(
        x: Any = flow.FixedTensorDef((2, 2)),  # noqa: B008
        y: Any = flow.FixedTensorDef((2, 2), name="y"),  # noqa: B008
    ) -> Any:
        return flow.identity(x), [flow.identity(y, name="own")]

    assert context.numbers.next == 1

    @flow.function
    def second() -> None:
        flow.constant(1.0, F, (1,))

    flow.train.CheckPoint().init()

    assert context.numbers.next == 1 + 1 + 2 + 1
    assert np.all(first(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32)).get()[0] == 1)


def test_functions_keep_their_names_and_signatures() -> None:
    assert flow.matmul is flow.linalg.matmul
    assert flow.reshape.__name__ == "reshape"
    assert flow.reshape.__doc__
    with pytest.raises(TypeError):
        flow.math.relu()
