"""Batches in pieces, assignments, and operations of `user_op_builder`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files

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


def _records(folder: Path) -> np.ndarray:
    """Writes two parts of eight samples each; returns them."""
    values = np.random.default_rng(8).normal(size=(2, 8, 3)).astype(np.float32)
    for part, rows in enumerate(values):
        records = [OFRecord() for _ in rows]
        for record, row in zip(records, rows, strict=True):
            record.feature["x"].float_list.value.extend(row.tolist())
        files.write(str(folder / f"part-{part}"), records)
    return values


@pytest.mark.parametrize("count", [1, 2])
def test_a_step_accumulates_the_gradients_of_several_batches_of_a_reader(
    devices: Callable[[int], None], count: int, tmp_path: Path
) -> None:
    devices(count)
    values = _records(tmp_path)
    config = flow.FunctionConfig()
    config.train.primary_lr(0.5)
    config.train.model_update_conf({"naive_conf": {}})
    config.train.num_gradient_accumulation_steps(3)

    @flow.global_function(config)
    def train() -> Any:
        conf = flow.data.BlobConf("x", (3,), flow.float, flow.data.RawCodec())
        x = flow.data.decode_ofrecord(str(tmp_path), conf, 4, 2)[0]
        drawn = flow.data.decode_random((2,), flow.float, 4)
        coins = flow.random.CoinFlip(4)
        w = flow.get_variable("w", (3, 1), initializer=ONES)
        y = flow.layers.batch_normalization(x, 1, 0.5, name="bn", scale=False, center=False)
        loss = flow.math.square(flow.matmul(x, w))
        flow.losses.add_loss(loss)
        assert (x.static_shape, loss.static_shape, y.static_shape) == ((4, 3), (4, 1), (4, 3))
        assert (drawn.static_shape, coins.static_shape) == ((4, 2), (4,))
        return loss, w, x, drawn, coins

    @flow.function
    def now() -> Any:
        return [
            flow.get_variable("w", (3, 1), initializer=ONES),
            flow.get_variable(
                "bn-moving_mean",
                (3,),
                initializer=flow.zeros_initializer(),
                trainable=False,
                model_name="moving_mean",
            ),  # fmt: skip
        ]

    flow.train.CheckPoint().init()
    loss, w, x, drawn, coins = train().get()

    # One device reads one part after the other; of two devices each reads a part of its own.
    rows = values.reshape(-1, 3)[:12]
    if count == 2:
        rows = np.concatenate([values[:, 2 * i : 2 * i + 2].reshape(-1, 3) for i in range(3)])
    np.testing.assert_array_equal(x, rows)
    np.testing.assert_allclose(loss, rows.sum(1, keepdims=True) ** 2, rtol=1e-4)
    np.testing.assert_array_equal(w, np.ones((9, 1)))
    assert len(set(drawn.ravel().tolist())) == 24
    assert coins.shape == (12,)
    slope = (2 * rows * rows.sum(1, keepdims=True)).mean(0)[:, None]
    moved, mean = now().get()
    np.testing.assert_allclose(moved, 1 - 0.5 * slope, rtol=1e-4)
    wanted = np.zeros(3)
    for batch in rows.reshape(3, 4, 3):
        wanted = 0.5 * wanted + 0.5 * batch.mean(0)
    np.testing.assert_allclose(mean, wanted, rtol=1e-4)


def test_a_job_with_arguments_is_told_how_to_accumulate() -> None:
    config = flow.FunctionConfig()
    config.train.num_gradient_accumulation_steps(3)

    @flow.global_function(config)
    def train(x: Any = flow.FixedTensorDef((6, 2))) -> Any:  # noqa: B008
        return x

    with pytest.raises(MoxNotSupportedError) as caught:
        flow.train.CheckPoint().init()
    assert str(caught.value).endswith(
        "takes argument x, and num_gradient_accumulation_steps(3) takes the batches of a step from"
        " readers. Give the job all 3 batches in one array, and call flow.unpack(x, 3)."
    )


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
