"""TPUEstimator without TPUs: sizes of batches, specs, optimizers that apply by themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.estimator import tpu
from moxing.estimator.strategies import MirroredStrategy

RATE, DECAY = 0.1, 0.9


class Momentum(tf.train.Optimizer):
    """Applies gradients itself, as optimizers of published language models do."""

    def __init__(self) -> None:
        super().__init__(False, "Momentum")

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None) -> Any:
        assignments = []
        for gradient, variable in grads_and_vars:
            if gradient is None:
                continue
            name = f"{variable.op.name}/m"
            zeros = tf.zeros_initializer()
            m = tf.get_variable(name, variable.shape, initializer=zeros, trainable=False)
            new = DECAY * m + gradient
            assignments += [m.assign(new), variable.assign(variable - RATE * new)]
        return tf.group(*assignments)


def momentum_by_hand(x: np.ndarray, y: np.ndarray, steps: int, batch: int) -> np.ndarray:
    """The weights of softmax regression after so many steps from zero, over the data in order."""
    w = m = np.zeros((x.shape[1], 2))
    for step in range(steps):
        at = np.arange(step * batch, (step + 1) * batch) % len(x)
        scores = x[at] @ w
        p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        m = DECAY * m + x[at].T @ (p - np.eye(2)[y[at]]) / batch
        w = w - RATE * m
    return w


@pytest.fixture
def told() -> list[tuple[str, Any]]:
    """What the model function was called with: mode and size of a batch."""
    return []


@pytest.fixture
def model_fn(told: list[tuple[str, Any]]) -> Callable[..., Any]:
    def build(features: Any, labels: Any, mode: str, params: Any) -> tpu.TPUEstimatorSpec:
        told.append((mode, params.get("batch_size")))
        w = tf.get_variable("w", [5, 2], initializer=tf.zeros_initializer())
        logits = tf.matmul(features["x"], w)
        if mode == tfe.ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions={"logits": logits})
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        if mode == tfe.ModeKeys.EVAL:

            def metrics(labels: Any, logits: Any) -> dict[str, Any]:
                return {"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}

            given = {"labels": labels, "logits": logits}
            return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metrics, given))
        variables = tf.trainable_variables()
        step = tf.train.get_or_create_global_step()
        optimizer = tpu.CrossShardOptimizer(Momentum())
        pairs = zip(tf.gradients(loss, variables), variables, strict=True)
        update = optimizer.apply_gradients(pairs, global_step=step)
        train_op = tf.group(update, [step.assign(step + 1)])
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

    return build


@pytest.fixture
def read(problem: SimpleNamespace) -> Callable[..., Any]:
    def make(epochs: int | None = None) -> Callable[..., Any]:
        def input_fn(params: Any) -> tf.data.Dataset:
            known = params if isinstance(params, dict) else params.values()
            size = known["batch_size"]
            data = tf.data.Dataset.from_tensor_slices(({"x": problem.x}, problem.y))
            return data.repeat(epochs).batch(size, drop_remainder=True)

        return input_fn

    return make


def estimator_of(model_fn: Any, folder: Path, **changes: Any) -> tpu.TPUEstimator:
    pipeline = tpu.TPUConfig(num_shards=8, per_host_input_for_training=3)
    distribute = changes.pop("strategy", None)
    config = tpu.RunConfig(
        tpu_config=pipeline, model_dir=str(folder), train_distribute=distribute, master=None
    )
    sizes = {"train_batch_size": 60, "eval_batch_size": 100, "predict_batch_size": 50}
    given = {"use_tpu": False, "config": config, **sizes, **changes}
    return tpu.TPUEstimator(model_fn, **given)


def test_each_mode_has_its_batch_and_the_update_is_the_programs_own(
    model_fn: Any, read: Any, told: Any, problem: Any, tmp_path: Path
) -> None:
    estimator = estimator_of(model_fn, tmp_path)
    estimator.train(read(), max_steps=12)
    assert estimator.get_variable_names() == ["global_step", "w", "w/m"]
    assert estimator.get_variable_value("global_step") == 12
    expected = momentum_by_hand(problem.x.astype("float64"), problem.y, 12, 60)
    np.testing.assert_allclose(estimator.get_variable_value("w"), expected, atol=1e-6)
    accuracy = ((problem.x @ expected).argmax(1) == problem.y).mean()
    values = estimator.evaluate(read(1))
    assert values["accuracy"] == pytest.approx(accuracy, abs=1e-6)
    given = np.stack([one["logits"] for one in estimator.predict(read(1))])
    np.testing.assert_allclose(given, problem.x @ expected, atol=1e-5)
    assert told == [("train", 60), ("eval", 100), ("infer", 50)]


def test_two_devices_count_one_step_and_take_the_mean(
    model_fn: Any, read: Any, problem: Any, tmp_path: Path
) -> None:
    strategy = MirroredStrategy(["cpu:0", "cpu:1"])
    estimator = estimator_of(model_fn, tmp_path, strategy=strategy, train_batch_size=30)
    estimator.train(read(), max_steps=9)
    assert estimator.get_variable_value("global_step") == 9
    expected = momentum_by_hand(problem.x.astype("float64"), problem.y, 9, 60)
    np.testing.assert_allclose(estimator.get_variable_value("w"), expected, atol=1e-6)


def test_warm_start_in_the_scaffold_function(
    model_fn: Any, read: Any, problem: Any, tmp_path: Path
) -> None:
    estimator_of(model_fn, tmp_path / "first").train(read(), max_steps=5)
    learned = estimator_of(model_fn, tmp_path / "first").get_variable_value("w")

    def warm(features: Any, labels: Any, mode: str, params: Any) -> Any:
        with tf.variable_scope("mine"):
            spec = model_fn(features, labels, mode, params)

        def scaffold_fn() -> tf.train.Scaffold:
            source = str(tmp_path / "first" / "model.ckpt-5")
            tf.train.init_from_checkpoint(source, {"w": "mine/w"})
            return tf.train.Scaffold()

        return spec._replace(scaffold_fn=scaffold_fn)

    estimator = estimator_of(warm, tmp_path / "second")
    # Momentum starts from zero, so that the first step is that of the gradient alone.
    estimator.train(read(), max_steps=1)
    scores = problem.x[:60].astype("float64") @ learned
    p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    gradient = problem.x[:60].T @ (p - np.eye(2)[problem.y[:60]]) / 60
    moved = estimator.get_variable_value("mine/w")
    np.testing.assert_allclose(moved, learned - RATE * gradient, atol=1e-6)
    # The second training goes on from its own checkpoint.
    estimator.train(read(), max_steps=2)
    assert np.abs(estimator.get_variable_value("mine/w") - moved).max() > 1e-4


def test_a_host_call_runs_with_every_step(model_fn: Any, read: Any, tmp_path: Path) -> None:
    losses: list[float] = []

    def watched(features: Any, labels: Any, mode: str, params: Any) -> Any:
        spec = model_fn(features, labels, mode, params)

        def note(loss: Any) -> Any:
            return tf.py_func(lambda value: losses.append(float(value)) or 0, [loss], tf.int64)

        return spec._replace(host_call=(note, [spec.loss]))

    estimator_of(watched, tmp_path).train(read(), max_steps=4)
    assert len(losses) == 4
    assert losses[0] == pytest.approx(np.log(2), abs=1e-6)


def test_hparams_get_the_size_too(model_fn: Any, read: Any, told: Any, tmp_path: Path) -> None:
    from moxing.legacy.contrib.training.hparams import HParams

    estimator_of(model_fn, tmp_path, params=HParams(depth=3)).train(read(), max_steps=1)
    assert told == [("train", 60)]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"use_tpu": True}, MoxNotSupportedError, "there are no TPUs here. Pass use_tpu=False"),
        ({"params": {"batch_size": 3}}, MoxValueError, "Take it out, and pass train_batch_size"),
        ({"train_batch_size": 0}, MoxValueError, "train_batch_size=0; it must be a number above 0"),
        ({"embedding_config_spec": 1}, MoxNotSupportedError, "puts embeddings on TPUs"),
    ],
)
def test_what_is_refused(
    model_fn: Any, tmp_path: Path, changes: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        estimator_of(model_fn, tmp_path, **changes)


def test_addresses_of_tpus_are_refused() -> None:
    with pytest.raises(MoxNotSupportedError, match="master='grpc://10.0.0.1:8470'"):
        tpu.RunConfig(master="grpc://10.0.0.1:8470")
    with pytest.raises(MoxNotSupportedError, match="looks for a TPU"):
        tpu.TPUClusterResolver("mine", zone="here")
    with pytest.raises(MoxNotSupportedError, match="looks for a TPU"):
        tpu.TPUClusterResolver()
    with pytest.raises(MoxNotSupportedError, match="cluster="):
        tpu.RunConfig(cluster=tf.train.ClusterSpec({"worker": ["here:1"]}))
    with pytest.raises(MoxTypeError, match="it must be a tf.estimator.tpu.TPUConfig"):
        tpu.RunConfig(tpu_config={"num_shards": 8})  # type: ignore[arg-type]


@pytest.mark.parametrize("none", ["", None])
def test_a_resolver_of_no_tpu_is_this_process(none: str | None) -> None:
    """Programs create it for use_tpu=False, too: of FLAGS.tpu, which is not given, or of ""."""
    resolver = tpu.TPUClusterResolver(none, zone=None, project=None)
    assert resolver.master() == resolver.get_master() == ""
    assert resolver.cluster_spec().as_dict() == {}
    assert resolver.get_job_name() is None
    config = tpu.RunConfig(cluster=resolver, master=resolver.get_master(), tf_random_seed=3)
    assert config.tf_random_seed == 3


def test_settings_survive_a_change() -> None:
    config = tpu.RunConfig(tpu_config=tpu.TPUConfig(iterations_per_loop=7), tf_random_seed=3)
    other = config.replace(save_checkpoints_steps=5)
    assert (other.tpu_config.iterations_per_loop, other.tf_random_seed) == (7, 3)
    assert other.replace(tpu_config=tpu.TPUConfig(9)).tpu_config.iterations_per_loop == 9


def test_published_weights_predict_without_a_training(
    model_fn: Any, read: Any, problem: Any, tmp_path: Path
) -> None:
    first = estimator_of(model_fn, tmp_path / "first").train(read(), max_steps=5)
    learned = first.get_variable_value("w")

    def published(features: Any, labels: Any, mode: str, params: Any) -> Any:
        spec = model_fn(features, labels, mode, params)
        tf.train.init_from_checkpoint(str(tmp_path / "first" / "model.ckpt-5"), {"w": "w"})
        return spec

    second = estimator_of(published, tmp_path / "second")
    one = next(second.predict(read(1)))
    np.testing.assert_allclose(one["logits"], problem.x[0] @ learned, atol=1e-5)
    assert second.evaluate(read(1))["accuracy"] == first.evaluate(read(1))["accuracy"]
    assert second.latest_checkpoint() is None
