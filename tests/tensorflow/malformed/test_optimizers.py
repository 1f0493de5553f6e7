"""What optimizer_fn must not return is refused, naming it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

pytestmark = pytest.mark.timeout(240)

Plain = tf.train.GradientDescentOptimizer


class Unfinished(tf.train.Optimizer):
    def __init__(self) -> None:
        super().__init__(use_locking=False, name="unfinished")


class Uninitialized(Plain):
    def __init__(self) -> None:
        pass


def elsewhere() -> tf.Tensor:
    with tf.Graph().as_default():
        return tf.constant(0.1)


def keras() -> Any:
    import tf_keras

    return tf_keras.optimizers.Adam()


def old_keras() -> Any:
    import tf_keras

    return tf_keras.optimizers.legacy.SGD()


def keras_3() -> Any:
    import keras

    return keras.optimizers.Adam()


def deeper(number: int) -> int:
    return deeper(number + 1)


def without_key() -> Any:
    return {}["learning_rate"]


RETURNED: dict[str, tuple[Callable[[], Any], str]] = {
    "None": (lambda: None, "optimizer_fn returned a builtins.NoneType, not a tf.train.Optimizer."),
    "number": (lambda: 0.1, "optimizer_fn returned a builtins.float, not a tf.train.Optimizer."),
    "name": (lambda: "sgd", "mox.get_optimizer_fn('adam', 0.001)()."),
    "class": (lambda: Plain, "optimizer_fn returned a builtins.type, not a tf.train.Optimizer."),
    "function": (lambda: mox.get_optimizer_fn("sgd", 0.1), "returned a builtins.function, not a"),
    "tuple": (lambda: (Plain(0.1),), "optimizer_fn returned a builtins.tuple, not a"),
    "list": (lambda: [Plain(0.1)], "optimizer_fn returned a builtins.list, not a"),
    "tf_keras": (keras, "returned a tf_keras.src.optimizers.adam.Adam, not a tf.train.Optimizer."),
    "old tf_keras": (old_keras, "gradient_descent.SGD, not a tf.train.Optimizer."),
    "Keras 3": (keras_3, "returned a keras.src.optimizers.adam.Adam, not a tf.train.Optimizer."),
    "train op": (
        lambda: tf.no_op(),
        "optimizer_fn returned a tensorflow.python.framework.ops.Oper",
    ),
    "missing key": (
        without_key,
        "raised while calling optimizer_fn without_key (test_optimizers.py",
    ),
    "missing argument": (
        lambda: tf.train.MomentumOptimizer(0.1),  # type: ignore[call-arg]
        "raised while calling optimizer_fn <lambda> (test_optimizers.py:",
    ),
    "recursion": (lambda: deeper(0), "raised while calling optimizer_fn <lambda>"),
    "unknown name": (lambda: mox.get_optimizer_fn("sgdd", 0.1)(), "'sgdd'"),
    "rate None": (lambda: Plain(None), "raised while calling GradientDescentOptimizer's apply_"),
    "rate text": (lambda: Plain("0.1"), "raised in step 0 (global step 0) of TRAIN"),
    "rates": (lambda: Plain([0.1, 0.2]), "raised while calling GradientDescentOptimizer's apply_"),
    "another graph's rate": (
        lambda: Plain(elsewhere()),
        "raised while calling GradientDescentOptimizer's apply_gradients",
    ),
    "unfinished": (Unfinished, "raised while calling Unfinished's apply_gradients"),
    "uninitialized": (Uninitialized, "raised while calling Uninitialized's apply_gradients"),
}


@pytest.mark.parametrize("case", RETURNED)
def test_returned(case: str, refused: Callable[..., None], run: Callable[..., Any]) -> None:
    optimizer_fn, told = RETURNED[case]
    refused(lambda: run(optimizer_fn=optimizer_fn, log_dir="out"), told)


def test_more_optimizers_than_losses(refused: Callable[..., None], run: Callable[..., Any]) -> None:
    functions = [mox.get_optimizer_fn("sgd", 0.1)] * 2
    refused(
        lambda: run(optimizer_fn=functions, log_dir="out"),
        "optimizer_fn is a list of 2, but ModelSpec has 1 loss. Give one optimizer_fn, or",
    )


def test_fewer_optimizers_than_losses(
    refused: Callable[..., None], run: Callable[..., Any], model_with: Callable[..., Any]
) -> None:
    model_fn = model_with(loss=lambda inputs, loss: [loss, loss, loss])
    functions = [mox.get_optimizer_fn("sgd", 0.1)] * 2
    refused(
        lambda: run(model_fn=model_fn, optimizer_fn=functions),
        "optimizer_fn is a list of 2, but ModelSpec has 3 losses.",
    )
