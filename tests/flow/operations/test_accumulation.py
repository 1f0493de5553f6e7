"""Batches in pieces, assignments, and operations of `user_op_builder`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError

X = np.random.default_rng(4).normal(size=(6, 2)).astype(np.float32)
ONES = flow.ones_initializer()


@pytest.mark.parametrize("count", [1, 2])
def test_pieces_of_a_batch_train_as_the_whole_does(
    devices: Callable[[int], None], count: int
) -> None:
    devices(count)

    def model(x: Any) -> Any:
        w = flow.get_variable("w", (2, 1), initializer=ONES)
        return flow.math.square(flow.matmul(x, w))

    def conf() -> Any:
        config = flow.FunctionConfig()
        config.train.primary_lr(0.1)
        config.train.model_update_conf({"naive_conf": {}})
        return config

    seen: dict[str, Any] = {}

    @flow.function(conf())
    def in_pieces(x: Any = flow.FixedTensorDef((6, 2))) -> Any:  # noqa: B008
        pieces = flow.unpack(x, 3)
        loss = model(pieces)
        seen.update(shapes=(pieces.static_shape, loss.static_shape))
        flow.losses.add_loss(loss)
        return flow.pack(loss, 3), flow.acc(loss, 3), flow.pack(flow.repeat(x, 2), 2)

    @flow.function
    def now() -> Any:
        return flow.get_variable("w", (2, 1), initializer=ONES)

    flow.train.CheckPoint().init()
    packed, total, twice = in_pieces(X).get()

    loss = X.sum(1, keepdims=True) ** 2
    np.testing.assert_allclose(packed, loss, rtol=1e-5)
    np.testing.assert_allclose(total, loss[:2] + loss[2:4] + loss[4:], rtol=1e-5)
    np.testing.assert_array_equal(twice, np.concatenate([X, X]))
    assert seen["shapes"] == ((2, 2), (2, 1))
    slope = (2 * X * X.sum(1, keepdims=True)).mean(0)[:, None]
    np.testing.assert_allclose(now().get(), 1 - 0.1 * slope, rtol=1e-4)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: flow.unpack(x, 4), "unpack_num=4 does not divide the batch of 6"),
        (lambda x: flow.pack(x, 2), "pack_num=2 goes with a blob that is computed from one that"),
        (lambda x: flow.acc(flow.unpack(x, 3), 2), "max_acc_num=2 goes with a blob"),
        (lambda x: flow.unpack(x, 2) + flow.unpack(x, 3), "cut into 2 and 3 pieces can't go into"),
        (lambda x: flow.argwhere(flow.unpack(x, 2)), "takes no blob in pieces of flow.unpack"),
    ],
)
def test_pieces_that_do_not_fit_are_named(use: Any, message: str) -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((6, 2))) -> Any:  # noqa: B008
        return use(x)

    with pytest.raises((MoxValueError, MoxNotSupportedError), match=message):
        job(X)


def test_assignments_come_behind_the_reads_of_their_step() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((6, 2))) -> Any:  # noqa: B008
        w = flow.get_variable("w", (6, 2), initializer=ONES)
        flow.assign(w, x + w)
        return w

    flow.train.CheckPoint().init()
    found = [job(X).get() for _ in range(4)]
    for index, values in enumerate(found):
        np.testing.assert_allclose(values, 1 + index * X, rtol=1e-4, atol=1e-5)

    flow.clear_default_session()

    @flow.function
    def wrong(x: Any = flow.FixedTensorDef((6, 2))) -> Any:  # noqa: B008
        flow.assign(x, x)

    with pytest.raises(MoxTypeError, match="is no variable of flow.get_variable"):
        wrong(X)


def test_user_operations_are_those_of_the_api() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((6, 2))) -> Any:  # noqa: B008
        leaky = flow.user_op_builder("leaky").Op("leaky_relu").Input("x", [x]).Output("y")
        y = leaky.Attr("alpha", 0.5, "AttrTypeFloat").Build().InferAndTryRun().RemoteBlobList()[0]
        old = flow.user_op_builder("old").Op("ccrelu").Input("in", [x]).Output("out").Build()
        p = flow.nn.softmax(x)
        two = flow.user_op_builder("two").Op("softmax_cross_entropy").Input("prediction", [x])
        two = two.Input("label", [p]).Output("prob").Output("out").Build().RemoteBlobList()
        cut = flow.user_op_builder("cut").Op("slice_v2").Input("x", [x]).Output("y")
        for name, value in (("begin", [0, 1]), ("end", [0, 0]), ("stride", [1, 1])):
            cut = cut.SetAttr(name, value, "AttrTypeListInt64")
        cut = cut.SetAttr("has_begin", [0, 1], "l").SetAttr("has_end", [0, 0], "l").Build()
        return y, old.SoleOutputBlob(), two[0], two[1], cut.SoleOutputBlob()

    y, relu, prob, entropy, cut = job(X).get()
    p = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    np.testing.assert_allclose(y, np.where(X > 0, X, X / 2), rtol=1e-6)
    np.testing.assert_allclose(relu, np.maximum(X, 0))
    np.testing.assert_allclose(prob, p, rtol=1e-5)
    np.testing.assert_allclose(entropy, -(p * np.log(p)).sum(1), rtol=1e-5)
    np.testing.assert_array_equal(cut, X[:, 1:])


def test_user_operations_that_are_not_there_or_not_whole_are_named() -> None:
    with pytest.raises(MoxNotSupportedError, match="has no operation 'leaky_rel'. Did you mean"):
        flow.user_op_builder("a").Op("leaky_rel")
    with pytest.raises(MoxTypeError, match="input 'x' takes a list of blobs, not 3"):
        flow.user_op_builder("a").Op("relu").Input("x", 3)  # type: ignore
    with pytest.raises(MoxValueError, match=r"call .Op\(kind\) before"):
        flow.user_op_builder("a").Build()
    with pytest.raises(MoxValueError, match="user operation 'a' of kind 'relu' needs 'x': give it"):
        flow.user_op_builder("a").Op("relu").Build().RemoteBlobList()
