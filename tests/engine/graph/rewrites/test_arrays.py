"""Large arrays of an input function do not become constants of the graph."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data import inputs
from moxing.engine.graph.rewrites import arrays
from moxing.engine.job.job import TRAIN

LARGE = np.arange(800_000, dtype=np.float32).reshape(200_000, 4)
LABELS = np.arange(200_000) % 7


def batches(graph: tf.Graph, made: inputs.Inputs, count: int) -> list[Any]:
    with tf.Session(graph=graph) as session:
        session.run(made.initializers)
        return [session.run(made.structure) for _ in range(count)]


def one_shot(dataset: Any) -> Any:
    return tf.data.make_one_shot_iterator(dataset).get_next()


@pytest.mark.parametrize("read", [lambda dataset: dataset, one_shot])
@pytest.mark.parametrize("shape", ["pair", "dict", "single"])
def test_the_same_elements_from_a_small_graph(read: Any, shape: str) -> None:
    given: Any = {
        "pair": (LARGE, LABELS),
        "dict": {"x": LARGE, "y": LABELS},
        "single": LARGE,
    }[shape]

    with tf.Graph().as_default() as graph:
        made = inputs.build(
            lambda mode: read(tf.data.Dataset.from_tensor_slices(given).batch(3)),
            TRAIN,
            None,
            False,
        )

    assert graph.as_graph_def().ByteSize() < 100_000
    first, second = batches(graph, made, 2)
    x = [one["x"] if shape == "dict" else one[0] for one in (first, second)]
    np.testing.assert_array_equal(np.concatenate(x), LARGE[:6])
    if shape == "pair":
        np.testing.assert_array_equal(second[1], LABELS[3:6])
    features: Any = made.structure
    assert features["x" if shape == "dict" else 0].shape.as_list() == [None, 4]


def test_samples_are_batched_too() -> None:
    def input_fn(mode: str) -> Any:
        return one_shot(tf.data.Dataset.from_tensor_slices((LARGE, LABELS)).repeat())

    with tf.Graph().as_default() as graph:
        made = inputs.build(input_fn, TRAIN, 5, True)

    (batch,) = batches(graph, made, 1)
    np.testing.assert_array_equal(batch[0], LARGE[:5])


def test_small_and_other_values_stay_as_they_are() -> None:
    with tf.Graph().as_default() as graph, arrays.out_of_graph():
        tf.data.Dataset.from_tensor_slices(([1, 2], LABELS[:2], np.array(["a", "b"])))

    assert {op.type for op in graph.get_operations()} <= {"Const", "TensorSliceDataset"}


def test_datasets_are_as_before_after_the_block() -> None:
    before = tf.data.Dataset.from_tensor_slices
    with contextlib.suppress(KeyError), arrays.out_of_graph():
        assert tf.data.Dataset.from_tensor_slices is not before
        raise KeyError
    assert tf.data.Dataset.from_tensor_slices is before
