"""Several batches make one step, which equals the step of one large batch."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.engine.data import feed
from moxing.engine.job.job import Loss, Model
from moxing.engine.job.updating import Updating
from moxing.errors import MoxNotSupportedError

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import adam, execute, messages, momentum, numbers, values  # noqa: E402

FOUR = Updating(accumulate=4)


def network(inputs: Any, mode: str) -> Model:
    """A dense layer, an embedding of which a batch touches few rows, and a dropped-out part."""
    x = tf.reshape(inputs[0], [-1])
    rows = tf.get_variable("rows", initializer=tf.reshape(tf.range(80.0), [40, 2]) / 80)
    w = tf.get_variable("w", initializer=[0.5, -0.5])
    seen = tf.gather(rows, tf.cast(x, tf.int32) % 40)
    logits = tf.reduce_sum(tf.tanh(seen * w), 1)
    loss = tf.reduce_mean(tf.square(logits - tf.cos(x))) + 0.01 * tf.nn.l2_loss(w)
    return Model((Loss(loss),), {"loss": loss}, {"x": x})


def trained(size: int, updating: Updating, steps: int = 3, **fields: Any) -> dict[str, np.ndarray]:
    given = {"model_fn": network, "input_fn": numbers(1000), "max_steps": steps, **fields}
    result = execute(batch_size=size, make_batches=True, updating=updating, **given)
    assert result.global_step == steps
    return values(result.checkpoint)


def close(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_allclose(one[name], other[name], rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    ("optimizer", "limits", "fields"),
    [
        (adam, {}, {}),
        (momentum, {"clip_norm": 0.05}, {}),
        (momentum, {"clip_value": 0.01}, {"dynamic_loss_scale": True, "loss_scale": 1024.0}),
    ],
)
def test_a_step_equals_that_of_one_large_batch(
    tmp_path: Path, optimizer: Any, limits: dict[str, Any], fields: dict[str, Any]
) -> None:
    """Sparse gradients stay sparse: momentum moves only rows of the embedding that were seen."""
    given = {"optimizer_fns": [optimizer], **fields}
    large = trained(8, Updating(**limits), log_dir=tmp_path / "large", **given)
    parts = trained(2, Updating(**limits, accumulate=4), log_dir=tmp_path / "parts", **given)
    close(parts, large)
    other = trained(2, Updating(**limits), log_dir=tmp_path / "small", **given)
    assert not np.allclose(other["w"], large["w"], atol=1e-4)


def test_optimizer_wrappers_compose(tmp_path: Path) -> None:
    def batched() -> tf.train.Optimizer:
        return mox.get_optimizer_wrapper_fn("batch_gradients", sgd(), num_batches=2)()

    both = trained(2, Updating(accumulate=2), 4, optimizer_fns=[batched], log_dir=tmp_path / "a")
    large = trained(8, Updating(), 2, optimizer_fns=[sgd], log_dir=tmp_path / "b")
    for name in ("w", "rows"):
        np.testing.assert_allclose(both[name], large[name], rtol=1e-5, atol=1e-5)


class Fed(tf.train.SessionRunHook):
    """Feeds a placeholder that the model reads, and counts steps."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def before_run(self, run_context: Any) -> Any:
        step = tf.train.get_global_step()
        fed = run_context.session.graph.get_tensor_by_name("f:0")
        return tf.train.SessionRunArgs(step, {fed: 2.0})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.steps.append(int(run_values.results))


def test_hooks_see_steps_and_feed_every_batch(tmp_path: Path) -> None:
    hook = Fed()

    def fed(inputs: Any, mode: str) -> Model:
        w = tf.get_variable("w", initializer=0.0)
        factor = tf.placeholder(tf.float32, [], "f")
        return Model((Loss(w * factor * tf.reduce_mean(inputs[0])),), hooks=(hook,))

    found = trained(1, FOUR, 2, model_fn=fed, log_dir=tmp_path, optimizer_fns=[sgd])
    np.testing.assert_allclose(found["w"], -0.1 * 2.0 * (1.5 + 5.5), rtol=1e-5)
    assert len(hook.steps) == 2


def sgd() -> tf.train.Optimizer:
    return tf.train.GradientDescentOptimizer(0.1)


def normed(inputs: Any, mode: str) -> Model:
    w = tf.get_variable("w", initializer=1.0)
    count = tf.get_variable("count", initializer=0.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(count, tf.reduce_mean(inputs[0])))
    noise = tf.random_uniform([])
    drawn = tf.get_variable("drawn", initializer=0.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign(drawn, drawn * 10 + noise))
    return Model((Loss(w * tf.reduce_mean(inputs[0]) * noise),))


def test_batch_norm_moves_with_each_batch_and_a_seed_gives_each_other_numbers(
    tmp_path: Path,
) -> None:
    whole = trained(1, FOUR, 3, model_fn=normed, log_dir=tmp_path / "a", seed=1)
    assert whole["count"] == sum(range(12))
    # The same batches and numbers, in four times as many steps.
    single = trained(1, Updating(), 12, model_fn=normed, log_dir=tmp_path / "b", seed=1)
    np.testing.assert_allclose(whole["drawn"], single["drawn"], rtol=1e-6)


@pytest.mark.parametrize("devices", [1, 2])
def test_data_that_ends_within_a_step_is_told_of(tmp_path: Path, log: Any, devices: int) -> None:
    result = execute(
        input_fn=numbers(11), batch_size=1, make_batches=True, updating=FOUR, log_dir=tmp_path,
        max_steps=9, devices=devices,
    )  # fmt: skip
    steps, left = (2, 3) if devices == 1 else (1, 1)
    assert (result.steps, result.global_step) == (steps, steps)
    told = f"its last {left} batch{'es' * (left > 1)} of the 4 that a step accumulates"
    assert any(told in line for line in messages(log)), messages(log)


def test_samples_are_those_of_all_batches(tmp_path: Path, log: Any) -> None:
    fields = {"batch_size": 2, "make_batches": True, "updating": FOUR, "max_steps": 3}
    execute(input_fn=numbers(99), log_dir=tmp_path, **fields)
    (line,) = (text for text in log.messages if text.startswith("Trained 3 steps"))
    seconds, rate = re.findall(r"in ([\d.]+) s: ([\d,.]+) samples/s", line)[0]
    np.testing.assert_allclose(float(seconds) * float(rate.replace(",", "")), 24, rtol=0.1)


def positioned(mode: str) -> tf.Tensor:
    """Numbers that go on behind those that earlier runs took."""
    data = tf.data.Dataset.range(feed.current().start, 1000)
    number = tf.data.make_one_shot_iterator(data).get_next()
    feed.register(number.op, number)
    return tf.cast(number, tf.float32)


@pytest.mark.parametrize("batches", [4, 2])
def test_a_run_resumes_behind_the_batches_that_were_taken(tmp_path: Path, batches: int) -> None:
    """Also where steps have another number of batches from then on."""
    seen: list[Any] = []
    fields = {"input_fn": positioned, "log_dir": tmp_path, "output_fn": seen.extend}
    trained(2, FOUR, 2, **fields, output_every=1)
    trained(2, Updating(accumulate=batches), 4, **fields, output_every=1)
    last = [step["x"].tolist() for step in seen]
    first, second = 16 + 2 * batches, 16 + 4 * batches
    assert last == [[6, 7], [14, 15], [first - 2, first - 1], [second - 2, second - 1]]


def test_a_variable_without_a_shape_is_refused(tmp_path: Path) -> None:
    def shapeless(inputs: Any, mode: str) -> Model:
        start = tf.placeholder_with_default(tf.ones([2]), [None])
        w = tf.get_variable("w", initializer=start, validate_shape=False)
        return Model((Loss(tf.reduce_sum(w)),))

    with pytest.raises(MoxNotSupportedError, match="the variable w has no fixed shape, so its"):
        execute(model_fn=shapeless, updating=FOUR, log_dir=tmp_path)
