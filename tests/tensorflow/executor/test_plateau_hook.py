"""PlateauLREarlyStoppingHook: Keras' decisions, every optimizer's learning rate, and resuming."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import MoxKeyError, MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.tensorflow.optimizer.dynamic_momentum import DyMomentumOptimizer
from moxing.tensorflow.optimizer.dynamic_momentumw import DyMomentumWOptimizer

Said = Callable[[str], list[str]]

SERIES = [1.0, 0.8, 0.79999, 0.9, 0.81, 0.7, 0.71, 0.72, 0.705, 0.69995, 0.7, 0.9, 0.5, 0.6, 0.6]


def train(
    series: list[float],
    optimizer: Callable[[], tf.train.Optimizer],
    steps: int | None = None,
    log_dir: Any = None,
    checkpoint_path: Any = None,
    plateau: bool = True,
    **arguments: Any,
) -> list[np.ndarray]:
    """Trains a weight whose gradient is 1; each step an evaluation gives the series' next value.

    Returns:
        The weight after each step.
    """
    seen: list[np.ndarray] = []

    class Watching(mox.AggregativeSessionRunHook):
        def __init__(self, weight: Any) -> None:
            self.weight = weight

        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append(run_context.session.run(self.weight))

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weight = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
        position = tf.minimum(tf.train.get_or_create_global_step() - 1, len(series) - 1)
        value = tf.gather(tf.constant(series), tf.maximum(position, 0))
        hooks: list[Any] = [Watching(weight)]
        if plateau:
            made = {"loss": value}
            hooks.append(mox.PlateauLREarlyStoppingHook(made, "loss", 1, 1, 1, **arguments))
        return mox.ModelSpec(loss=tf.reduce_sum(weight), log_info={"v": value}, hooks=hooks)

    mox.run(
        input_fn=lambda mode: tf.constant([0.0]),
        model_fn=model_fn,
        optimizer_fn=optimizer,
        run_mode="TRAIN",
        inter_mode="EVAL" if plateau else None,
        log_dir=log_dir,
        checkpoint_path=checkpoint_path,
        max_number_of_steps=steps or len(series),
    )
    return seen


def rates_of(weights: list[np.ndarray], before: float = 0.0) -> list[float]:
    """The learning rate of each step of gradient descent with a gradient of 1."""
    return [-float(step) for step in np.diff([before, *(weight[0] for weight in weights)])]


def keras_rates(series: list[float], rate: float, **arguments: Any) -> list[float]:
    """The learning rate of each step, the first of which sees no value, by Keras itself."""
    import tf_keras

    class Model:
        class optimizer:
            lr = learning_rate = None

    with tf.Graph().as_default(), tf.Session() as session, session.as_default():
        variable = tf.get_variable("rate", initializer=rate)
        session.run(variable.initializer)
        Model.optimizer.lr = Model.optimizer.learning_rate = variable
        callback = tf_keras.callbacks.ReduceLROnPlateau(monitor="loss", **arguments)
        callback.set_model(Model)
        callback.on_train_begin()
        rates = []
        for value in series:
            rates.append(float(session.run(variable)))
            callback.on_epoch_end(len(rates), {"loss": value})
    return rates


@pytest.mark.parametrize(
    "arguments",
    [
        {"factor": 0.5, "patience": 2},
        {"factor": 0.1, "patience": 1, "min_delta": 0.05},
        {"factor": 0.5, "patience": 1, "cooldown": 2},
        {"factor": 0.1, "patience": 1, "min_lr": 0.02},
        {"factor": 0.5, "patience": 2, "mode": "max"},
    ],
)
def test_it_decides_as_keras_does(arguments: dict[str, Any]) -> None:
    pytest.importorskip("tf_keras")
    weights = train(SERIES, mox.get_optimizer_fn("sgd", 1.0), plateau_patience=99, **arguments)
    assert rates_of(weights) == pytest.approx(keras_rates(SERIES, 1.0, **arguments), abs=1e-6)


def test_lines_of_a_run_that_ends_at_the_third_plateau_in_a_row(said: Said) -> None:
    weights = train([1.0] * 30, mox.get_optimizer_fn("sgd", 0.5), patience=2)
    assert rates_of(weights) == pytest.approx([0.5] * 3 + [0.05] * 2 + [0.005] * 2, rel=1e-4)
    start = "[PlateauLREarlyStopping] step: "
    assert said(" got no better") == [
        f"{start}2 loss got no better in 2 evaluations: learning rate 0.5 -> 0.05",
        f"{start}4 loss got no better in 2 evaluations: learning rate 0.05 -> 0.005",
        f"{start}6 loss got no better in 2 evaluations: training ends at plateau 3",
    ]


def test_a_better_value_between_makes_plateaus_count_anew() -> None:
    series = [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.1]
    arguments: dict[str, Any] = {"patience": 2, "plateau_patience": 2}
    assert len(train(series, mox.get_optimizer_fn("sgd", 0.5), **arguments)) == 7


def test_at_the_lowest_rate_plateaus_still_end_training() -> None:
    weights = train(
        [1.0] * 30, mox.get_optimizer_fn("sgd", 0.1), patience=1, min_lr=0.1, plateau_patience=4
    )
    assert rates_of(weights) == pytest.approx([0.1] * 5, rel=1e-4)


def test_a_value_that_is_not_a_number_is_no_better_one() -> None:
    nan = float("nan")
    weights = train([nan, nan, nan], mox.get_optimizer_fn("sgd", 1.0), patience=1, factor=0.5)
    assert rates_of(weights) == pytest.approx([1.0, 0.5, 0.25])


OPTIMIZERS: dict[str, Callable[[Any], tf.train.Optimizer]] = {
    "sgd": tf.train.GradientDescentOptimizer,
    "momentum": lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    "nesterov": lambda rate: tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
    "adam": tf.train.AdamOptimizer,
    "rmsprop": lambda rate: tf.train.RMSPropOptimizer(rate, momentum=0.5),
    "adagrad": tf.train.AdagradOptimizer,
    "adagrad_da": lambda rate: tf.train.AdagradDAOptimizer(rate, tf.train.get_global_step()),
    "adadelta": lambda rate: tf.train.AdadeltaOptimizer(rate, epsilon=0.1),
    "ftrl": lambda rate: tf.train.FtrlOptimizer(rate, l2_regularization_strength=0.01),
    "proximal_sgd": tf.train.ProximalGradientDescentOptimizer,
    "proximal_adagrad": tf.train.ProximalAdagradOptimizer,
    "dynamic momentum": lambda rate: DyMomentumOptimizer(rate, 1.0, 0.0, 0.9, 0.9),
    "dynamic momentum with decay": lambda rate: DyMomentumWOptimizer(
        rate, 1.0, 0.0, 0.9, 0.9, weight_decay=0.1
    ),
    "wrapped": lambda rate: mox.get_optimizer_wrapper_fn(
        "lars", tf.train.MomentumOptimizer(rate, 0.9)
    )(),
    "wrapped twice": lambda rate: mox.get_optimizer_wrapper_fn(
        "batch_gradients",
        mox.get_optimizer_wrapper_fn("lars", tf.train.AdamOptimizer(rate))(),
        num_batches=2,
    )(),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_moves_as_with_a_schedule_of_the_same_rates(name: str) -> None:
    """The rate falls tenfold after the second step: as a schedule says it, and as the hook does."""

    def scheduled() -> Any:
        step = tf.cast(tf.train.get_global_step(), tf.int32)
        return OPTIMIZERS[name](tf.train.piecewise_constant(step, [1, 3], [0.2, 0.02, 0.002]))

    by_schedule = train([1.0] * 6, scheduled, plateau=False)
    by_hook = train(
        [1.0, 1.0, 1.0, 1.0, 0.9, 0.8],
        lambda: OPTIMIZERS[name](0.2),
        patience=1,
        cooldown=2,
    )
    np.testing.assert_allclose(by_hook, by_schedule, rtol=2e-5)


def test_a_tensor_and_a_function_are_rates_too() -> None:
    for rate in (lambda: tf.constant(0.5), lambda: lambda: tf.constant(0.5, tf.float64)):
        weights = train(
            [1.0] * 3, lambda rate=rate: tf.train.GradientDescentOptimizer(rate()), patience=1
        )
        assert rates_of(weights) == pytest.approx([0.5, 0.5, 0.05], rel=1e-4)


def test_a_schedule_goes_on_below_the_factor() -> None:
    def optimizer() -> tf.train.Optimizer:
        step = tf.train.get_global_step()
        return tf.train.GradientDescentOptimizer(tf.train.exponential_decay(1.0, step, 1, 0.5))

    weights = train([1.0] * 4, optimizer, patience=1, cooldown=9)
    assert rates_of(weights) == pytest.approx([1.0, 0.5, 0.025, 0.0125], rel=1e-4)


def test_an_optimizer_used_in_two_runs_keeps_its_own_rate() -> None:
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    for _ in range(2):
        weights = train([1.0] * 3, lambda: optimizer, patience=1)
        assert rates_of(weights) == pytest.approx([0.5, 0.5, 0.05], rel=1e-4)
    assert optimizer._learning_rate == 0.5


def test_a_resumed_run_goes_on_with_factor_and_counts(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"patience": 3, "factor": 0.5}
    series = [1.0] * 9
    whole = train(series, mox.get_optimizer_fn("adam", 0.5), **arguments)
    first = train(series, mox.get_optimizer_fn("adam", 0.5), 5, tmp_path / "a", **arguments)
    second = train(series, mox.get_optimizer_fn("adam", 0.5), 9, tmp_path / "a", **arguments)
    np.testing.assert_array_equal([*first, *second], whole)


def test_a_run_from_the_checkpoint_of_another_starts_with_its_own_rate(tmp_path: Path) -> None:
    sgd = mox.get_optimizer_fn("sgd", 0.5)
    train([1.0] * 4, sgd, 4, tmp_path / "a", patience=1)
    weights = train([1.0] * 6, sgd, 6, tmp_path / "b", tmp_path / "a", patience=1)
    assert weights[1][0] - weights[0][0] == pytest.approx(-0.5)


def test_an_optimizer_without_a_learning_rate_is_named() -> None:
    class Mine(tf.train.Optimizer):
        def __init__(self) -> None:
            super().__init__(False, "Mine")

        def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
            return handle.assign_sub(0.5 * grad)

    assert rates_of(train([1.0], Mine, plateau=False)) == [0.5]
    with pytest.raises(MoxNotSupportedError) as caught:
        train([1.0], Mine)
    assert str(caught.value) == (
        "PlateauLREarlyStoppingHook can't find the learning rate of Mine. Use an optimizer of"
        " tf.train or mox.get_optimizer_fn, or keep the rate in self._learning_rate."
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"monitor": "acc"}, MoxKeyError, "monitor='acc' is not in monitor_info, which has loss."),
        ({"factor": 1.0}, MoxValueError, "factor=1.0: it must be below 1."),
        ({"factor": "x"}, MoxTypeError, "factor='x': it must be a number."),
        ({"mode": "up"}, MoxValueError, "mode='up': it must be 'auto', 'min' or 'max'."),
        ({"min_lr": -1}, MoxValueError, "min_lr=-1: it must be finite and at least 0."),
    ],
)
def test_arguments_that_make_no_sense(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    given = {"monitor": "loss", "batch_size": 1, "samples_in_train": 1, "samples_in_eval": 1}
    with tf.Graph().as_default(), pytest.raises(error) as caught:
        mox.PlateauLREarlyStoppingHook({"loss": tf.constant(1.0)}, **(given | arguments))
    assert str(caught.value) == f"PlateauLREarlyStoppingHook: {message}"
