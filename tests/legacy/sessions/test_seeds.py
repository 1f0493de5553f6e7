"""Random numbers of a graph's seed, beside those that TensorFlow 1.15.5 drew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import random_seed
from tensorflow.python.ops import tensor_array_ops

from moxing.legacy.sessions import seeds

# Printed by TensorFlow 1.15.5 for `_build`: the names of the tensors and their values.
_OF_1_15: dict[str, tuple[str, list[float]]] = {
    "uniform": ("u:0", [0.40109, 0.37684]),
    "normal": ("random_normal:0", [0.53494, 2.62563]),
    "kernel": ("fc:0", [0.2154, 0.3366, 0.47138, -0.99221, 0.4263, -0.59994]),
    "dropout": ("dropout/mul_1:0", [2.0, 0.0, 2.0, 2.0, 0.0, 2.0]),
    "integers": ("random_uniform:0", [8.0, 3.0, 0.0]),
    "shuffled": ("RandomShuffle:0", [0.0, 2.0, 4.0, 1.0, 3.0]),
    "after_convolution": ("truncated_normal:0", [-1.6759, -1.45068]),
    "after_these": ("w:0", [0.57583, 0.14658, -0.23464, 0.55249]),
    "own_seed": ("random_uniform_1:0", [0.40109, 0.37684]),
}


@pytest.fixture(autouse=True)
def as_in_a_program() -> Iterator[None]:
    enabled, flow = tf.resource_variables_enabled(), tf.control_flow_v2_enabled()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    seeds.install()
    seeds.install()
    yield
    seeds.uninstall()
    if enabled:
        tf.enable_resource_variables()
    if flow:
        tf.enable_control_flow_v2()


def _build() -> dict[str, Any]:
    """Returns random tensors by name, in a graph that has a seed and they have none."""
    tf.set_random_seed(7)
    made = {
        "uniform": tf.random_uniform([2], name="u"),
        "normal": tf.random_normal([2]),
        "kernel": tf.get_variable("fc", [3, 2]),
        "dropout": tf.nn.dropout(tf.ones([6]), 0.5),
        "integers": tf.random_uniform([3], 0, 9, tf.int32),
        "shuffled": tf.random_shuffle(tf.range(5)),
    }
    tf.nn.convolution(tf.ones([1, 2, 2, 1]), tf.ones([1, 1, 1, 1]), "SAME")
    tf.split(tf.ones([4]), 2)
    made["after_convolution"] = tf.truncated_normal([2])
    made["after_these"] = tf.get_variable("w", [2, 2])
    made["own_seed"] = tf.random_uniform([2], seed=3)
    return made


def test_random_operations_draw_the_numbers_of_1_15_under_its_names() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = _build()
        session.run(tf.global_variables_initializer())
        for key, (name, values) in _OF_1_15.items():
            assert made[key].name == name
            assert np.allclose(session.run(made[key]).ravel(), values, atol=1e-5), key


def test_arrays_ask_their_length_by_an_operation() -> None:
    # Operations are counted: each moves the seeds of those behind it.
    with tf.Graph().as_default() as graph, tf.Session() as session:
        array: Any = tensor_array_ops._GraphTensorArray(tf.float32, 2, element_shape=[])
        stacked = array.write(0, 1.0).write(1, 2.0).stack()
        assert "TensorArraySizeV3" in [operation.type for operation in graph.get_operations()]
        assert stacked.shape == [2]
        assert session.run(stacked).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("rate", [0.3, tf.float32], ids=["a number", "a tensor"])
def test_dropout_scales_what_it_keeps_and_passes_gradients_there_alone(rate: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.arange(1.0, 9.0, dtype=np.float32))
        given = tf.placeholder(rate, []) if rate is tf.float32 else rate
        dropped = tf.nn.dropout(x, rate=given, seed=5)
        values, gradient = session.run(
            [dropped, tf.gradients(dropped, x)[0]], {given: 0.3} if given is not rate else {}
        )
    kept = values != 0
    assert 0 < kept.sum() < 8
    assert np.allclose(values, np.where(kept, np.arange(1.0, 9.0) / 0.7, 0))
    assert np.allclose(gradient, kept / np.float32(0.7))


def test_rates_without_an_effect_and_wrong_arguments_are_as_before() -> None:
    with tf.Graph().as_default():
        x = tf.ones([3])
        assert tf.nn.dropout(x, rate=0.0) is x
        with pytest.raises(ValueError, match="rate"):
            tf.nn.dropout(x, rate=1.5)
        with pytest.raises(ValueError, match="floating"):
            tf.nn.dropout(tf.ones([3], tf.int32), rate=0.5)


def test_graphs_of_runs_are_left_to_tensorflow_2() -> None:
    tf.enable_resource_variables()
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(7)
        tf.constant(1)
        assert random_seed.get_seed(None) == (7, 0)
        assert random_seed.get_seed(None) == (7, 1)
        before = len(graph.get_operations())
        assert tf.random_uniform([2]).op.type == "RandomUniform"
        assert len(graph.get_operations()) == before + 2
        assert tf.nn.dropout(tf.ones([3]), 0.5).op.type == "SelectV2"
