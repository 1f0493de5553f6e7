"""get_optimizer_fn: names, learning rates and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.optimizer import OptimizerKeys, get_optimizer_fn

ADAM_TAKES = "beta1, beta2, epsilon, use_locking, use_own_namescope_for_non_slot_vars"


@pytest.mark.parametrize(
    ("name", "cls", "kwargs"),
    [
        ("adadelta", tf.train.AdadeltaOptimizer, {"rho": 0.9}),
        ("adagrad", tf.train.AdagradOptimizer, {"initial_accumulator_value": 0.2}),
        ("adam", tf.train.AdamOptimizer, {"beta1": 0.5}),
        ("ftrl", tf.train.FtrlOptimizer, {"l1_regularization_strength": 0.1}),
        ("momentum", tf.train.MomentumOptimizer, {"momentum": 0.9, "use_nesterov": True}),
        ("rmsprop", tf.train.RMSPropOptimizer, {"decay": 0.8}),
        ("sgd", tf.train.GradientDescentOptimizer, {}),
    ],
)
def test_same_weights_as_the_tensorflow_class(
    name: str, cls: Any, kwargs: dict[str, Any], follow: Any, gradients: Any
) -> None:
    steps = gradients({"w": (3, 2)}, 4)
    start = {"w": np.ones((3, 2))}
    ours = follow(get_optimizer_fn(name, 0.1, **kwargs), start, steps)
    theirs = follow(lambda: cls(0.1, **kwargs), start, steps)
    assert np.array_equal(ours.weights[-1]["w"], theirs.weights[-1]["w"])
    assert not np.array_equal(ours.weights[-1]["w"], start["w"])
    assert ours.variables == theirs.variables


def test_keys_are_the_names() -> None:
    names = {value for key, value in vars(OptimizerKeys).items() if key.isupper()}
    assert names == {"adadelta", "adagrad", "adam", "ftrl", "momentum", "rmsprop", "sgd"}


def test_each_call_makes_another_optimizer() -> None:
    optimizer_fn = get_optimizer_fn("sgd", 0.1)
    assert optimizer_fn() is not optimizer_fn()


def test_positional_arguments_follow_scope(follow: Any) -> None:
    steps = [{"w": [1.0]}] * 3
    by_position = follow(get_optimizer_fn("momentum", 0.1, None, 0.5), {"w": [1.0]}, steps)
    by_name = follow(get_optimizer_fn("momentum", 0.1, momentum=0.5), {"w": [1.0]}, steps)
    assert by_position.weights[-1]["w"] == by_name.weights[-1]["w"]


def test_scope_names_operations_but_no_variables(follow: Any) -> None:
    made: list[tf.Tensor] = []

    def rate() -> tf.Tensor:
        made.append(tf.constant(0.1, name="rate"))
        return made[0]

    seen = follow(get_optimizer_fn("adam", rate, scope="generator"), {"w": [1.0]}, [{"w": [1.0]}])
    assert made[0].op.name == "generator/rate"
    assert seen.variables == [
        "beta1_power",
        "beta2_power",
        "global_step",
        "w",
        "w/Adam",
        "w/Adam_1",
    ]


@pytest.mark.parametrize(
    "rate",
    [
        1,
        np.float32(1.0),
        np.array(1.0),
        lambda: 1.0,
        lambda: tf.constant(1.0),
        lambda: tf.constant(1, tf.int64),
        lambda: tf.train.exponential_decay(1.0, tf.train.get_or_create_global_step(), 1, 1.0),
    ],
)
def test_learning_rates(rate: Any, follow: Any) -> None:
    seen = follow(get_optimizer_fn("sgd", rate), {"w": [3.0]}, [{"w": [1.0]}] * 2)
    assert seen.weights[-1]["w"] == [1.0]


def test_a_tensor_of_the_graph_and_a_variable_are_learning_rates() -> None:
    with tf.Graph().as_default():
        for rate in (tf.constant(0.1), tf.get_variable("rate", initializer=0.1)):
            assert isinstance(get_optimizer_fn("sgd", rate)(), tf.train.GradientDescentOptimizer)


def test_a_tensor_of_another_graph_is_refused() -> None:
    with tf.Graph().as_default():
        optimizer_fn = get_optimizer_fn("sgd", tf.constant(0.1, name="rate"))
    with tf.Graph().as_default(), pytest.raises(MoxValueError) as caught:
        optimizer_fn()
    assert str(caught.value) == (
        "get_optimizer_fn: learning_rate is the tensor 'rate:0' of another graph than the one "
        "being built. Make it inside optimizer_fn, or pass a function that makes it: "
        "learning_rate=lambda: ..."
    )


MUST_BE = "it must be a number, a scalar tensor, or a function without arguments that makes one."


@pytest.mark.parametrize(
    ("rate", "error", "message"),
    [
        (-0.5, MoxValueError, "learning_rate is -0.5; it must be finite, and 0 or more."),
        (float("nan"), MoxValueError, "learning_rate is nan; it must be finite, and 0 or more."),
        (float("inf"), MoxValueError, "learning_rate is inf; it must be finite, and 0 or more."),
        (True, MoxTypeError, f"learning_rate is True (bool); {MUST_BE}"),
        (None, MoxTypeError, f"learning_rate is None (NoneType); {MUST_BE}"),
        (
            "0.1",
            MoxTypeError,
            f"learning_rate is '0.1' (str); {MUST_BE} Pass the number: float('0.1').",
        ),
        (
            lambda step: step,
            MoxTypeError,
            "learning_rate is a function that cannot be called without arguments "
            "(missing a required argument: 'step'). Wrap it: learning_rate=lambda: f(...)",
        ),
    ],
)
def test_bad_learning_rates_are_refused_at_once(
    rate: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        get_optimizer_fn("sgd", rate)
    assert str(caught.value) == f"get_optimizer_fn: {message}"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: -1.0, MoxValueError, "learning_rate is -1; it must be finite, and 0 or more."),
        (
            lambda: lambda: 0.1,
            MoxTypeError,
            "the function given as learning_rate returned another function.",
        ),
        (
            lambda: tf.constant([0.1]),
            MoxValueError,
            "learning_rate is a tensor of shape (1,); it must be a scalar.",
        ),
        (
            lambda: tf.constant("0.1"),
            MoxTypeError,
            "learning_rate is a tensor of string; it must be of numbers.",
        ),
    ],
)
def test_bad_results_of_learning_rate_functions(
    make: Any, error: type[Exception], message: str
) -> None:
    with tf.Graph().as_default(), pytest.raises(error) as caught:
        get_optimizer_fn("sgd", make)()
    assert str(caught.value) == f"get_optimizer_fn: {message}"


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "message"),
    [
        (
            "adam",
            (),
            {"beta_1": 0.5},
            "optimizer 'adam' has no argument 'beta_1'. Did you mean 'beta1' or 'beta2'? "
            f"It takes: {ADAM_TAKES}.",
        ),
        (
            "sgd",
            (),
            {"momentum": 0.9},
            "optimizer 'sgd' has no argument 'momentum'. It takes: use_locking.",
        ),
        (
            "momentum",
            (),
            {},
            "optimizer 'momentum': missing a required argument: 'momentum'. "
            "It takes: momentum, use_locking, use_nesterov.",
        ),
        (
            "sgd",
            (None, False, "x", 3),
            {},
            "optimizer 'sgd': too many positional arguments. It takes: use_locking.",
        ),
    ],
)
def test_wrong_arguments_are_refused_at_once(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(MoxTypeError) as caught:
        get_optimizer_fn(name, 0.1, *args, **kwargs)
    assert str(caught.value) == f"get_optimizer_fn: {message}"


KNOWN = "Known: adadelta, adagrad, adam, ftrl, momentum, rmsprop, sgd."


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("Adam", MoxValueError, f"unknown optimizer 'Adam'. Did you mean 'adam'? {KNOWN}"),
        ("lamb", MoxValueError, f"unknown optimizer 'lamb'. {KNOWN}"),
        (7, MoxTypeError, f"the name of an optimizer is a string, not int. {KNOWN}"),
    ],
)
def test_unknown_names(name: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        get_optimizer_fn(name, 0.1)
    assert str(caught.value) == f"get_optimizer_fn: {message}"
