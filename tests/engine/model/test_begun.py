"""A step counts itself behind all that it waits for, and before all that it changes."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.ops import control_flow_util

from moxing.engine.graph.rewrites.resources import resource_variables
from moxing.engine.model import begun

LIMIT = 60.0


def read(function: Any) -> tf.Tensor:
    """Data that Python code makes in the step."""
    value = tf.py_func(function, [], tf.float32)
    value.set_shape([])
    return value


def variable(name: str) -> tf.Variable:
    return tf.get_variable(name, [], initializer=tf.zeros_initializer())


def test_nothing_is_changed_while_a_step_waits() -> None:
    waits, goes_on = threading.Event(), threading.Event()

    def function() -> np.float32:
        waits.set()
        goes_on.wait(LIMIT)
        return np.float32(2)

    with tf.Graph().as_default(), resource_variables(), tf.Session() as session:
        data = read(function)
        weight, steps, chosen = variable("weight"), variable("steps"), variable("chosen")
        table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, 0)
        one = tf.constant(1, tf.int64)
        step = tf.group(
            weight.assign_add(data).op,
            steps.assign_add(1).op,
            tf.cond(steps.read_value() < 9, lambda: chosen.assign_add(1), lambda: 0.0),
            table.insert(one, one),
        )
        count = begun.mark(step, [data.op])
        assert count is not None
        assert count.guards
        state = [
            weight.read_value(),
            steps.read_value(),
            chosen.read_value(),
            table.size(),
            count.steps,
        ]
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        thread = threading.Thread(target=session.run, args=(step,))
        thread.start()
        assert waits.wait(LIMIT)
        time.sleep(0.2)
        assert session.run(state) == [0, 0, 0, 0, 0]
        goes_on.set()
        thread.join(LIMIT)
        assert session.run(state) == [2, 1, 1, 1, 1]


@pytest.mark.parametrize("kind", ["changed before", "in a loop", "constant"])
def test_where_the_order_can_t_be_had_only_data_is_counted(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_flow_util, "ENABLE_CONTROL_FLOW_V2", False)
    with tf.Graph().as_default() as graph, resource_variables():
        weight = variable("weight")
        before = [weight.assign_add(1).op] if kind == "changed before" else []
        with tf.control_dependencies(before):
            data = tf.constant(1.0) if kind == "constant" else read(lambda: np.float32(1))
        step = weight.assign_add(data).op
        if kind == "in a loop":
            loop = tf.while_loop(
                lambda i: i < 3, lambda i: i + tf.cast(weight.assign_add(data), tf.int32), [0]
            )
            step = tf.group(loop)
        operations = len(graph.get_operations())
        count = begun.mark(step, [data.op])
        if kind == "constant":
            assert count is None
            assert len(graph.get_operations()) == operations
            return
        assert count is not None
        assert not count.guards
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            session.run([step, data])
            assert session.run(count.steps) == 1
