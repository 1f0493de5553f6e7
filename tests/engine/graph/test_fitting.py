"""The batch that would have fit, by the tensors of the graph."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import fitting
from moxing.engine.graph.rewrites.resources import resource_variables

BATCH, WIDTH, LAYERS = 4096, 256, 20
# Back-propagation keeps the result of each layer, and Adam has two slots of each variable.
SAMPLE = WIDTH * LAYERS * 4
WEIGHTS = WIDTH * WIDTH * LAYERS * 4


def trained(batch: int | None = BATCH) -> tf.Graph:
    with resource_variables(), tf.Graph().as_default() as graph:
        x: Any = tf.placeholder(tf.float32, [batch, WIDTH])
        for layer in range(LAYERS):
            x = tf.tanh(tf.matmul(x, tf.get_variable(f"w{layer}", [WIDTH, WIDTH])))
        tf.train.AdamOptimizer().minimize(tf.reduce_mean(tf.square(x)))
    return graph


def peak(graph: tf.Graph, batch: int) -> float:
    """The most memory, by the estimate, that a step of a batch takes."""
    variables, curve = fitting._needs(graph, BATCH)
    return variables + max(whole + batch * each for whole, each in curve)


@pytest.mark.parametrize("batch", [BATCH, None])
def test_variables_and_activations_are_counted(batch: int | None) -> None:
    graph = trained(batch)
    variables, curve = fitting._needs(graph, BATCH)
    assert 3 * WEIGHTS <= variables < 3 * WEIGHTS + 100
    assert max(whole for whole, _ in curve) <= 2 * WEIGHTS  # The gradients, and what updates need.
    assert SAMPLE <= max(each for _, each in curve) <= 1.5 * SAMPLE


def test_what_fits_takes_the_memory_that_there_is() -> None:
    graph = trained()
    for limit in (0.9, 0.5, 0.2):
        room = int(peak(graph, BATCH) * limit)
        found = fitting.fitting(graph, room, BATCH)
        assert found is not None
        assert peak(graph, found) <= 0.9 * room < peak(graph, found + 16)


def test_gradients_of_a_size_that_the_batch_divides_are_no_batches() -> None:
    graph = trained(64)
    _, curve = fitting._needs(graph, 64)
    assert SAMPLE <= max(each for _, each in curve) <= 1.5 * SAMPLE


def test_the_batch_that_did_not_fit_corrects_the_estimate() -> None:
    """By its tensors it would have fit, so samples need more than they seem to."""
    assert fitting.fitting(trained(), 1 << 40, BATCH) == BATCH - 8
    assert fitting.fitting(trained(None), 1 << 40, 3) == 2


def test_not_one_sample_fits() -> None:
    assert fitting.fitting(trained(), WEIGHTS, BATCH) == 0


def test_a_graph_without_a_batch_has_no_other_one() -> None:
    with tf.Graph().as_default() as graph:
        tf.reduce_sum(tf.get_variable("w", [1000]) * 2.0)
    assert fitting.fitting(graph, 1 << 20, 7) is None


def test_without_a_gpu_there_is_no_limit() -> None:
    """The limit that TensorFlow gives for a CPU has nothing to do with its memory."""
    with tf.Graph().as_default(), tf.Session() as session:
        assert fitting.room(session, 8) is None


def test_the_device_with_the_least_memory_counts() -> None:
    class Session:
        def list_devices(self) -> list[Any]:
            kinds = [("CPU", 1), ("GPU", 900), ("GPU", 800)]
            return [
                type("Device", (), {"device_type": kind, "memory_limit_bytes": count})
                for kind, count in kinds
            ]

    assert fitting.room(Session(), 8) == fitting.Room(800, 8)  # pyright: ignore[reportArgumentType]
