"""Updates that model functions build themselves, on one device and on several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing import flags
from moxing.errors import MoxNotSupportedError
from moxing.estimator.strategies import MirroredStrategy

Read = Callable[..., Any]
Update = Callable[[tf.Tensor, Any], Any]


def trained(folder: Path, update: Update, input_fn: Any, steps: int, **settings: Any) -> Any:
    """Trains the least squares of one weight a column; `update` makes a train_op of the loss."""

    def model_fn(features: Any, labels: Any, mode: str) -> tfe.EstimatorSpec:
        weights = tf.get_variable("w", [5, 1], initializer=tf.zeros_initializer())
        error = tf.matmul(features["x"], weights)[:, 0] - tf.cast(labels, tf.float32)
        loss = tf.reduce_mean(tf.square(error))
        return tfe.EstimatorSpec(mode, loss=loss, train_op=update(loss, weights))

    estimator = tfe.Estimator(model_fn, folder, tfe.RunConfig(**settings))
    return estimator.train(input_fn, max_steps=steps)


def descended(problem: SimpleNamespace, steps: int, rate: float, clip: float = np.inf) -> Any:
    """The same by NumPy, with all of the data at each step."""
    weights = np.zeros(5)
    for _ in range(steps):
        gradient = 2 * problem.x.T @ (problem.x @ weights - problem.y) / len(problem.x)
        weights -= rate * gradient * min(1, clip / np.linalg.norm(gradient))
    return weights[:, None]


def step() -> Any:
    return tf.train.get_global_step()


def clipped(loss: tf.Tensor, _: Any) -> Any:
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    gradients, _ = tf.clip_by_global_norm(gradients, 0.2)
    return optimizer.apply_gradients(zip(gradients, variables, strict=True), global_step=step())


def synchronized(loss: tf.Tensor, _: Any) -> Any:
    inner = tf.train.GradientDescentOptimizer(0.1)
    optimizer = tf.train.SyncReplicasOptimizer(inner, replicas_to_aggregate=2)
    made = optimizer.minimize(loss, step())
    assert isinstance(optimizer.make_session_run_hook(True), tf.train.SessionRunHook)
    return made


def synchronized_by_a_hook_of_before(loss: tf.Tensor, _: Any) -> Any:
    """The hook may be made before the update, and asks the optimizer for its operations later."""
    inner = tf.train.GradientDescentOptimizer(0.1)
    optimizer = tf.train.SyncReplicasOptimizer(inner, replicas_to_aggregate=2)
    hook = optimizer.make_session_run_hook(is_chief=True, num_tokens=2)
    made = optimizer.minimize(loss, step())
    hook.begin()
    return made


def without_a_step(loss: tf.Tensor, _: Any) -> Any:
    """Programs that count by themselves."""
    made = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return tf.group(made, step().assign_add(1))


def of_keras(loss: tf.Tensor, weights: Any) -> Any:
    import tf_keras

    optimizer = tf_keras.optimizers.legacy.SGD(0.1)
    optimizer.iterations = step()
    return optimizer.get_updates(loss, [weights])[0]


def by_assignment(loss: tf.Tensor, weights: Any) -> Any:
    return weights.assign_sub(0.1 * tf.gradients(loss, weights)[0])


def by_assignment_and_step(loss: tf.Tensor, weights: Any) -> Any:
    return tf.group(by_assignment(loss, weights), step().assign_add(1))


@pytest.mark.parametrize(
    ("update", "clip"),
    [
        (by_assignment, np.inf),
        (by_assignment_and_step, np.inf),
        (clipped, 0.2),
        (synchronized, np.inf),
        (synchronized_by_a_hook_of_before, np.inf),
        (without_a_step, np.inf),
        (of_keras, np.inf),
    ],
)
def test_updates_of_all_kinds(
    update: Update, clip: float, tmp_path: Path, read: Read, problem: SimpleNamespace
) -> None:
    estimator = trained(tmp_path, update, read(600), 5)

    assert estimator.get_variable_value("global_step") == 5
    expected = descended(problem, 5, 0.1, clip)
    np.testing.assert_allclose(estimator.get_variable_value("w"), expected, atol=1e-5)


def test_averages_follow_the_update(tmp_path: Path, read: Read, problem: SimpleNamespace) -> None:
    def averaged(loss: tf.Tensor, weights: Any) -> Any:
        made = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step())
        average = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([made]):
            return average.apply([weights])

    estimator = trained(tmp_path, averaged, read(600), 3)

    average = np.zeros((5, 1))
    for count in (1, 2, 3):
        average = (average + descended(problem, count, 0.1)) / 2
    np.testing.assert_allclose(
        estimator.get_variable_value("w/ExponentialMovingAverage"), average, atol=1e-5
    )


def test_two_optimizers_move_their_own_variables(tmp_path: Path, read: Read) -> None:
    def two(loss: tf.Tensor, weights: Any) -> Any:
        bias = tf.get_variable("b", [], initializer=tf.zeros_initializer())
        other = tf.square(bias - 1.0)
        first = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step(), var_list=[weights])
        second = tf.train.GradientDescentOptimizer(0.25).minimize(other, var_list=[bias])
        return tf.group(first, second)

    estimator = trained(tmp_path, two, read(600), 2)
    assert estimator.get_variable_value("global_step") == 2
    assert estimator.get_variable_value("b") == pytest.approx(0.75)
    assert np.abs(estimator.get_variable_value("w")).min() > 0


def test_several_devices_are_one_with_a_larger_batch(
    tmp_path: Path, problem: SimpleNamespace
) -> None:
    flags.set_flag("num_gpus", 2)

    def halves() -> Any:
        data = tf.data.Dataset.from_tensor_slices(({"x": problem.x}, problem.y))
        return data.batch(300).repeat()

    estimator = trained(
        tmp_path / "two", without_clip, halves, 4, train_distribute=MirroredStrategy()
    )
    np.testing.assert_allclose(
        estimator.get_variable_value("w"), descended(problem, 4, 0.1), atol=1e-5
    )
    # Without a strategy there is one, whatever the platform says of its GPUs.
    alone = trained(tmp_path / "one", without_clip, halves, 4)
    assert np.abs(alone.get_variable_value("w") - estimator.get_variable_value("w")).max() > 1e-3


def without_clip(loss: tf.Tensor, _: Any) -> Any:
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss, step())


def test_a_run_that_is_built_twice(tmp_path: Path, problem: SimpleNamespace) -> None:
    """Where a model reads its input past its arguments, the engine builds the run again."""
    kept: dict[str, Any] = {}
    calls: list[str] = []

    class Hook(tf.train.SessionRunHook):
        def begin(self) -> None:
            calls.append("begin")

    def input_fn() -> Any:
        data = tf.data.Dataset.from_tensor_slices((problem.x, problem.y)).batch(600).repeat()
        kept["x"], y = tf.data.make_one_shot_iterator(data).get_next()
        return {"x": kept["x"]}, y

    def model_fn(features: Any, labels: Any, mode: str) -> tfe.EstimatorSpec:
        calls.append("model_fn")
        weights = tf.get_variable("w", [5, 1], initializer=tf.zeros_initializer())
        error = tf.matmul(kept["x"], weights)[:, 0] - tf.cast(labels, tf.float32)
        loss = tf.reduce_mean(tf.square(error)) + 0 * tf.reduce_sum(features["x"])
        return tfe.EstimatorSpec(mode, loss=loss, train_op=without_clip(loss, None))

    estimator = tfe.Estimator(model_fn, tmp_path).train(input_fn, hooks=[Hook()], max_steps=3)

    assert calls == ["model_fn", "model_fn", "begin"]
    np.testing.assert_allclose(
        estimator.get_variable_value("w"), descended(problem, 3, 0.1), atol=1e-5
    )


def inside_cond(loss: tf.Tensor, _: Any) -> Any:
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss)
    now = tf.equal(step() % 2, 0)
    return tf.cond(now, lambda: optimizer.apply_gradients(pairs, step()), tf.no_op)


@pytest.mark.parametrize("flag", ["num_gpus", "accumulate_steps"])
def test_assignments_that_several_would_share(flag: str, tmp_path: Path, read: Read) -> None:
    flags.set_flag(flag, 2)
    settings = {"train_distribute": MirroredStrategy()} if flag == "num_gpus" else {}
    with pytest.raises(MoxNotSupportedError) as caught:
        trained(tmp_path, by_assignment, read(), 1, **settings)
    assert str(caught.value) == (
        "model_fn's train_op has no update of an optimizer. Make it with minimize() or"
        " apply_gradients() of an optimizer of tf.train or tf.keras.optimizers, or train with one"
        " device and one process: assignments of other kinds can't be shared by devices, processes"
        " and accumulated batches."
    )


def test_updates_of_some_steps_only(tmp_path: Path, read: Read) -> None:
    with pytest.raises(MoxNotSupportedError) as caught:
        trained(tmp_path, inside_cond, read(), 1)
    assert str(caught.value) == (
        "model_fn applies gradients inside tf.cond or tf.while_loop, so that some steps would"
        " not update: openmox makes one update a step. Call minimize() or apply_gradients()"
        " outside; for larger batches, raise the batch size of input_fn."
    )


def test_optimizers_are_as_before_afterwards(tmp_path: Path, read: Read) -> None:
    before = tf.train.Optimizer.apply_gradients
    with pytest.raises(MoxNotSupportedError):
        trained(tmp_path, inside_cond, read(), 1)
    assert tf.train.Optimizer.apply_gradients is before


@pytest.mark.parametrize("shape", [None, [None], [1, None]])
def test_a_loss_whose_shape_only_a_run_can_tell(
    shape: Any, tmp_path: Path, read: Read, problem: SimpleNamespace
) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> tfe.EstimatorSpec:
        weight = tf.get_variable("w", initializer=3.0)
        size = 0 if shape is None else len(shape)
        zero = tf.py_func(lambda: np.zeros([1] * size, np.float32), [], tf.float32)
        zero.set_shape(shape)
        loss = tf.square(weight) + zero
        train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss, step())
        return tfe.EstimatorSpec(mode, loss=loss, train_op=train_op)

    estimator = tfe.Estimator(model_fn, tmp_path).train(read(), max_steps=1)
    assert estimator.get_variable_value("w") == 0.0
    assert estimator.evaluate(read(50, 1))["loss"] == 0.0
