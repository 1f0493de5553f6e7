"""Runs an optimizer on gradients that a test chooses, in a graph of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf


@dataclass
class Trajectory:
    """What was seen after each step."""

    weights: list[dict[str, np.ndarray]] = field(default_factory=list)
    slots: list[dict[str, np.ndarray]] = field(default_factory=list)
    global_steps: list[int] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)


@pytest.fixture
def follow() -> Callable[..., Trajectory]:
    """`follow(make_optimizer, start, gradients)`: one step for each dict of gradients."""

    def run(
        make_optimizer: Callable[[], tf.train.Optimizer],
        start: dict[str, Any],
        gradients: list[dict[str, Any]],
        dtype: Any = np.float32,
    ) -> Trajectory:
        seen = Trajectory()
        with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
            step = tf.train.get_or_create_global_step()
            variables = {
                name: tf.get_variable(name, initializer=np.asarray(value, dtype))
                for name, value in start.items()
            }
            feeds = {name: tf.placeholder(dtype, var.shape) for name, var in variables.items()}
            optimizer = make_optimizer()
            train_op = optimizer.apply_gradients(
                [(feeds[name], variables[name]) for name in variables], global_step=step
            )
            slots = {
                f"{name}/{slot}": optimizer.get_slot(var, slot)
                for name, var in variables.items()
                for slot in optimizer.get_slot_names()
                if optimizer.get_slot(var, slot) is not None
            }
            seen.variables = sorted(var.op.name for var in tf.global_variables())
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for gradient in gradients:
                    session.run(train_op, {feeds[name]: gradient[name] for name in variables})
                    values, slot_values, now = session.run([variables, slots, step])
                    seen.weights.append(values)
                    seen.slots.append(slot_values)
                    seen.global_steps.append(int(now))
        return seen

    return run


@pytest.fixture
def gradients() -> Callable[..., list[dict[str, np.ndarray]]]:
    """`gradients(shapes, steps)`: normal numbers that are the same in every run."""

    def draw(shapes: dict[str, tuple[int, ...]], steps: int) -> list[dict[str, np.ndarray]]:
        random = np.random.default_rng(7)
        return [
            {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
            for _ in range(steps)
        ]

    return draw
