"""Variables of every kind, tables and random numbers are where a run needs them."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.job.job import EVAL, Loss, Model

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import (  # noqa: E402
    execute,
    model_fn,
    once,
    same,
    values,
)


class Counter(tf.train.SessionRunHook):
    """Keeps a variable of its own, made in begin()."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def begin(self) -> None:
        variable = tf.get_variable(
            "hook/steps", [], initializer=tf.zeros_initializer(), trainable=False
        )
        self._count = tf.assign_add(variable, 1.0)

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self._count)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.seen.append(float(run_values.results))


def counted(hook: Counter) -> Any:
    return lambda inputs, mode: dataclasses.replace(model_fn(inputs, mode), hooks=(hook,))


def test_a_variable_of_a_hook_is_saved_and_resumed(tmp_path: Path) -> None:
    first, second, third = Counter(), Counter(), Counter()
    execute(log_dir=tmp_path, model_fn=counted(first), max_steps=3)
    execute(log_dir=tmp_path, model_fn=counted(second), max_steps=5)
    execute(log_dir=tmp_path, model_fn=counted(third), mode=EVAL, max_steps=1)
    assert (first.seen, second.seen, third.seen) == ([1, 2, 3], [4, 5], [6])


@pytest.mark.parametrize("how", ["resumed", "evaluated", "warm"])
def test_a_hook_may_come_later_than_the_checkpoint(tmp_path: Path, how: str) -> None:
    old = execute(log_dir=tmp_path)
    hook = Counter()
    fields: dict[str, Any] = {
        "resumed": {"log_dir": tmp_path, "max_steps": 7},
        "evaluated": {"log_dir": tmp_path, "mode": EVAL, "max_steps": 2},
        "warm": {"checkpoint_path": old.checkpoint, "max_steps": 7},
    }[how]
    result = execute(model_fn=counted(hook), **fields)
    assert result.steps == 2
    assert hook.seen == [1, 2]


def test_tables_of_input_and_model_are_initialized(tmp_path: Path) -> None:
    def table(default: float) -> Any:
        keys, found = tf.constant(["a", "b"]), tf.constant([10.0, 20.0])
        return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, found), default)

    def input_fn(mode: str) -> Any:
        word = once(tf.data.Dataset.from_tensor_slices(["a", "c", "b"])).get_next()
        return word, table(-1.0).lookup(word)

    def tabled(inputs: Any, mode: str) -> Model:
        model = model_fn(inputs[1:], mode)
        return dataclasses.replace(
            model, outputs={"x": inputs[1], "y": table(-2.0).lookup(inputs[0])}
        )

    found: list[Any] = []
    fields = {"input_fn": input_fn, "model_fn": tabled, "output_fn": found.extend}
    execute(**fields, output_every=1, log_dir=tmp_path, max_steps=3)
    assert [(float(step["x"]), float(step["y"])) for step in found] == [
        (10, 10),
        (-1, -2),
        (20, 20),
    ]


def test_seeds_fix_weights_and_differ(tmp_path: Path) -> None:
    def random(inputs: Any, mode: str) -> Model:
        weights = tf.get_variable("w", [20], initializer=tf.random_normal_initializer())
        noisy = tf.nn.dropout(weights, rate=0.5) + tf.random_uniform([20])
        return Model(losses=(Loss(tf.reduce_mean(tf.square(noisy - inputs[0]))),))

    def shuffled(mode: str) -> Any:
        data = tf.data.Dataset.range(20).shuffle(20)
        return tf.cast(once(data).get_next(), tf.float32) + tf.random_uniform([])

    def weights(seed: int | None, name: str) -> dict[str, np.ndarray]:
        fields = {"input_fn": shuffled, "model_fn": random, "log_dir": tmp_path / name}
        return values(execute(seed=seed, **fields, max_steps=8).checkpoint)

    one, again, other = weights(1, "one"), weights(1, "again"), weights(2, "other")
    assert same(one, again)
    assert not np.allclose(one["w"], other["w"])
    assert not np.allclose(weights(None, "none")["w"], weights(None, "none too")["w"])
