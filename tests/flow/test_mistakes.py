"""Mistakes in calls of the dialect: the value, and what to write, before TensorFlow sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import moxing.flow as flow
from moxing.errors import MoxError
from moxing.legacy.program import hints

X = np.ones((4, 3), np.float32)
RELU: Any = "relu"
DEFINED = flow.input_blob_def((4, 3))


def _raised(action: Callable[[], Any]) -> str:
    with pytest.raises(MoxError) as caught:
        action()
    return str(caught.value)


def _run(body: Callable[[Any], Any]) -> Any:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 3))) -> Any:  # noqa: B008
        return body(x)

    flow.train.CheckPoint().init()
    return job(X).get()


def _variable(**given: Any) -> Any:
    first = flow.ones_initializer()
    return flow.get_variable(**{"name": "w", "shape": (2,), "initializer": first, **given})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (np.mean, "has no values while the job is traced: NumPy, TensorFlow and Python's numbers"),
        (np.asarray, "Compute with flow.math and flow.nn; after the step, with the arrays of .get"),
        (float, "blob <Blob job/input_x/out shape=(4, 3) float32> has no values"),
        (int, "has no values while the job is traced"),
        (tf.nn.relu, "has no values while the job is traced"),
        (lambda x: flow.reshape(x, (-1, -1)), "flow.reshape: shape=(-1, -1) has -1 twice"),
        (lambda x: flow.layers.dense(x, 0), "flow.layers.dense: units=0; give a whole number from"
         " 1."),
        (lambda x: flow.layers.conv2d(x, 0), "flow.layers.conv2d: filters=0; give a whole number"),
        (lambda x: flow.layers.dense(x, 2, activation=RELU), "flow.layers.dense:"
         " activation='relu'; give a function, such as flow.keras.activations.relu."),
        (lambda x: flow.layers.conv2d(x, 2, activation=RELU), "flow.layers.conv2d: activation="),
        (lambda x: _variable(name=3), "flow.get_variable: the name of a variable is text, not 3."),
        (lambda x: _variable(distribute="split"), "variable 'w': distribute='split' is no layout;"
         " give flow.distribute.split(axis) or flow.distribute.broadcast()."),
        (lambda x: _variable(distribute=flow.distribute.split(1)), "variable 'w' of shape (2,)"
         " can't be split along axis 1"),
        (lambda x: flow.watch(x, 3), "flow.watch takes a function, or a text to print before"
         " values, not 3."),
        (lambda x: flow.clip_by_value(x), "flow.clip_by_value needs min_value, max_value or both."),
        (lambda x: flow.math.reduce_sum(x, 4), "reduce_sum can't be made of (4, 3) float32: "),
        (lambda x: flow.math.add(x, flow.ones_like(x, flow.int32)), "add can't be made of (4, 3)"),
        (lambda x: x + flow.constant(1.0, flow.float, (5,)), "an operator of Python can't be made"
         " of (4, 3) float32, (5,) float32: Dimensions must be equal, but are 3 and 5."),
    ],
)  # fmt: skip
def test_a_mistake_in_a_job_is_told(body: Callable[[Any], Any], message: str) -> None:
    assert message in _raised(lambda: _run(body))


def test_numbers_of_numpy_still_take_blobs() -> None:
    found = _run(lambda x: (np.float32(2) * x, x * np.float32(3), np.float64(1) - x))
    assert [array.mean() for array in found] == [2, 3, 0]


@pytest.mark.parametrize("define", [flow.FixedTensorDef, flow.input_blob_def,
                                    flow.MirroredTensorDef])  # fmt: skip
@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ((-1, 3), flow.float, "input is (-1, 3); it takes whole numbers, as in (32, 3)."),
        ((4.5, 3), flow.float, "input is (4.5, 3); it takes whole numbers"),
        ((None, 3), flow.float, "For batches of several sizes, give the largest: flow.Mirrored"),
        (3, flow.float, "input is 3; it takes whole numbers"),
        ((4, 3), "flaot", "input is 'flaot'; it takes a type such as flow.float"),
    ],
)
def test_a_definition_that_makes_no_sense_is_told(
    define: Callable[..., Any], shape: Any, dtype: Any, message: str
) -> None:
    assert message in _raised(lambda: define(shape, dtype))


def _train(**conf: Any) -> None:
    @flow.function
    def train(x: Any = flow.FixedTensorDef((4, 3))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(conf.get("rate", 0.1))
        flow.config.train.model_update_conf(conf.get("update", {"naive_conf": {}}))
        loss = flow.math.reduce_sum(x * _variable(shape=(3,)), 1)
        flow.losses.add_loss(loss)
        return loss

    flow.train.CheckPoint().init()
    train(x=X)  # type: ignore


def _two(x: Any = DEFINED, y: Any = DEFINED) -> Any:
    return x + y


def _method(self: Any, x: Any = DEFINED) -> Any:
    return x


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (_train, "job train was called with x by name: a job takes its arrays by their places,"
         " train(x)."),
        (lambda: _train(rate=float("nan")), "flow.config.train.primary_lr(nan): give a finite"),
        (lambda: _train(update={"adam_conf": {"beta1": "x"}}), "model_update_conf['adam_conf']:"
         " beta1 is 'x'; it takes a number."),
        (lambda: _train(update={"adam_conf": {"do_bias_correction": 3}}), "do_bias_correction is 3;"
         " it takes True or False."),
        (lambda: flow.function(flow.FunctionConfig), "FunctionConfig itself: write Function"),
        (lambda: flow.config.train.primary_lr(0.1), "of the train job, a function with @flow.func"),
        (lambda: flow.function(_two)(X), "job _two takes 2 arrays, and was"
         " given 1: call _two(x, y)."),
        (lambda: flow.function(_method), "a method can't be a job, so define the function outside"),
        (lambda: flow.config.ctrl_port(99999999), "flow.config.ctrl_port(99999999): a port is a"
         " number up to 65535."),
        (lambda: flow.env.data_port(-2), "flow.env.data_port(-2): a port is a number up to 65535."),
    ],
)  # fmt: skip
def test_a_mistake_around_jobs_is_told(action: Callable[[], Any], message: str) -> None:
    assert message in _raised(action)


def test_the_result_of_a_job_that_returns_nothing_is_explained() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 3))) -> None:  # noqa: B008
        flow.math.relu(x)

    with pytest.raises(AttributeError) as caught:
        job(X).get()  # type: ignore
    (hint,) = hints.hints(caught.value, ".", True)
    assert hint == (
        "The call of a job whose function returns nothing gives None: return the blobs in the"
        " function, or leave out .get()."
    )
    for other in (AttributeError("x", name="get", obj=3), AttributeError("x", name="keys")):
        assert not hints.hints(other, ".", True)
