"""Several losses, their scopes and their optimizers: one step moves each as it should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

Run = Callable[..., Any]
Said = Callable[..., list[str]]
NAMES = ("first/w", "first_too/w", "second/w")


def model_fn_with(losses: Any, scopes: Any) -> Any:
    """Three weights of 1. The losses: w1 + w2 + w3 and its double, and what `losses` picks."""

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        del inputs, mode
        weights = [tf.get_variable(name, initializer=1.0) for name in NAMES]
        total = tf.add_n(weights)
        return mox.ModelSpec(loss=losses(total, 2.0 * total), var_scopes=scopes)

    return model_fn


def after(log_dir: Path, step: int = 1) -> list[Any]:
    reader = tf.train.load_checkpoint(f"{log_dir}/model.ckpt-{step}")
    return [pytest.approx(reader.get_tensor(name).item()) for name in NAMES]


def sgd(rate: float) -> Any:
    return mox.get_optimizer_fn("sgd", learning_rate=rate)


@pytest.mark.parametrize(
    ("losses", "scopes", "optimizers", "weights"),
    [
        # One loss.
        (lambda a, b: a, None, sgd(0.1), [0.9, 0.9, 0.9]),
        (lambda a, b: a, ["first"], sgd(0.1), [0.9, 1.0, 1.0]),
        (lambda a, b: a, ["first/"], sgd(0.1), [0.9, 1.0, 1.0]),
        (lambda a, b: a, ["first", "second"], sgd(0.1), [0.9, 1.0, 0.9]),
        (lambda a, b: a, ["first/w"], sgd(0.1), [0.9, 1.0, 1.0]),
        (lambda a, b: [a], [["second"]], [sgd(0.1)], [1.0, 1.0, 0.9]),
        # Two losses: gradients 1 and 2.
        (lambda a, b: [a, b], None, sgd(0.1), [0.7, 0.7, 0.7]),
        (lambda a, b: (a, b), [["first"], ["second"]], sgd(0.1), [0.9, 1.0, 0.8]),
        (lambda a, b: [a, b], [["first"], ["first"]], sgd(0.1), [0.7, 1.0, 1.0]),
        (lambda a, b: [a, b], [["first"], ["second"]], [sgd(0.1), sgd(0.01)], [0.9, 1.0, 0.98]),
        (lambda a, b: [a, b], [["first"], ["first"]], (sgd(0.1), sgd(0.01)), [0.88, 1.0, 1.0]),
        (lambda a, b: [a, b], [["first"], ["second"]], [sgd(0.1)], [0.9, 1.0, 0.8]),
    ],
)
def test_one_step(
    losses: Any, scopes: Any, optimizers: Any, weights: list[float], run: Run, tmp_path: Path
) -> None:
    result = run(
        model_fn=model_fn_with(losses, scopes),
        optimizer_fn=optimizers,
        log_dir=tmp_path,
        max_number_of_steps=1,
    )
    assert after(tmp_path) == weights
    assert result.global_step == 1


def test_all_gradients_are_of_the_same_weights(run: Run, tmp_path: Path) -> None:
    """As in a GAN: neither loss sees what the other has moved in this step."""

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        first, too, second = (tf.get_variable(name, initializer=1.0) for name in NAMES)
        product = first * too * second
        return mox.ModelSpec(loss=[product, -product], var_scopes=[["first"], ["second"]])

    run(model_fn=model_fn, log_dir=tmp_path, max_number_of_steps=1)
    assert after(tmp_path) == [0.9, 1.0, 1.1]


def test_each_optimizer_keeps_slots_of_its_own(run: Run, tmp_path: Path) -> None:
    run(
        model_fn=model_fn_with(lambda a, b: [a, b], [["first"], ["second"]]),
        optimizer_fn=[
            mox.get_optimizer_fn("momentum", learning_rate=0.1, momentum=0.5),
            mox.get_optimizer_fn("adam", learning_rate=0.1),
        ],
        log_dir=tmp_path,
        max_number_of_steps=2,
    )
    # Momentum: 1 - 0.1 - 0.1 * 1.5; Adam moves by its learning rate while the gradient is constant.
    assert after(tmp_path, step=2) == [0.75, 1.0, 0.8]
    names = set(tf.train.load_checkpoint(str(tmp_path)).get_variable_to_shape_map())
    assert "first/w/Momentum" in names
    assert "second/w/Adam" in names
    assert not any(name.startswith(("first_too/w/", "second/w/Momentum")) for name in names)


def test_optimizer_function_is_called_once_for_each_loss(run: Run) -> None:
    calls: list[int] = []

    def optimizer_fn() -> tf.train.Optimizer:
        calls.append(1)
        return tf.train.GradientDescentOptimizer(0.1)

    run(model_fn=model_fn_with(lambda a, b: [a, b], None), optimizer_fn=optimizer_fn)
    assert len(calls) == 2


def test_learning_rate_that_follows_the_global_step(run: Run, tmp_path: Path) -> None:
    def optimizer_fn() -> tf.train.Optimizer:
        step = tf.train.get_or_create_global_step()
        rate = tf.train.piecewise_constant(step, [1], [0.1, 0.01])
        return tf.train.GradientDescentOptimizer(rate)

    run(
        model_fn=model_fn_with(lambda a, b: a, None),
        optimizer_fn=optimizer_fn,
        log_dir=tmp_path,
        max_number_of_steps=3,
    )
    assert after(tmp_path, step=3) == [1 - 0.1 - 0.1 - 0.01] * 3


def test_regularization_is_added_by_the_user_only(run: Run) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        regularizer = tf.keras.regularizers.l2(0.5)
        weight = tf.get_variable("w", initializer=2.0, regularizer=regularizer)
        (penalty,) = mox.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        return mox.ModelSpec(loss=weight * 3.0, log_info={"loss": weight * 3.0, "l2": penalty})

    assert run(model_fn=model_fn, max_number_of_steps=1).metrics == {"loss": 6.0, "l2": 2.0}
