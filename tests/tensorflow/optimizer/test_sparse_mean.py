"""Sparse tensors of several processes meet in their mean, and few elements are sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.parallel.reduce import AllReduce
from moxing.engine.parallel.self_exchange import Exchange
from moxing.tensorflow.optimizer.sparse_mean import choose, sparse_means, without
from moxing.tensorflow.optimizer.sparsity import largest_mask, room

SHAPES = [(6, 4), (10, 2)]


def draw(process: int) -> list[np.ndarray]:
    chance = np.random.default_rng(process)
    return [chance.normal(size=shape).astype(np.float32) for shape in SHAPES]


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """The array with zeros but for the largest elements."""
    threshold = np.sort(np.abs(values).ravel())[-count]
    return np.where(np.abs(values) >= threshold, values, 0)


def met(processes: int, shares: list[float], cases: list[int]) -> tuple[Any, list[int], list[Any]]:
    """What devices that stand for processes end with, what each sent, and what is left, by case."""
    with tf.Graph().as_default() as graph:
        case = tf.placeholder(tf.int32, [])
        share = tf.gather(tf.constant(shares), case)
        means, left = [], []
        for process in range(processes):
            with tf.device(f"/cpu:{process}"):
                exchange = Exchange(AllReduce(processes, 7))
                chosen = []
                for values in map(tf.constant, draw(process)):
                    mask = largest_mask(values, share, tf.constant(0))
                    rooms = [room(values.shape.num_elements(), one) for one in shares]
                    chosen.append(choose(values, mask, rooms, case))
                    left.append(without(values, chosen[-1]))
                means.append(sparse_means(exchange, chosen, case))
        gathers = [op for op in graph.get_operations() if op.type == "CollectiveGatherV2"]
        sent = [tf.size(op.inputs[0]) for op in gathers]
        assert len(sent) == processes
        config = tf.ConfigProto(device_count={"CPU": processes})
        with tf.Session(config=config) as session:
            runs = [session.run([means, sent, left], {case: number}) for number in cases]
    return [run[0] for run in runs], [int(run[1][0]) for run in runs], [run[2] for run in runs]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_the_mean_of_the_largest(processes: int) -> None:
    means, sent, left = met(processes, [0.75], [0])
    for index, count in enumerate([6, 5]):
        kept = [largest(draw(process)[index], count) for process in range(processes)]
        for of_process in means[0]:
            np.testing.assert_allclose(of_process[index], np.mean(kept, 0), rtol=1e-6)
            assert of_process[index].tobytes() == means[0][0][index].tobytes()
        for process in range(processes):
            rest = left[0][process * len(SHAPES) + index]
            np.testing.assert_array_equal(rest, draw(process)[index] - kept[process])
    assert sent == [2 * (6 + 5)]  # A place and a value each, of 44 elements in all.


def test_each_sparsity_sends_its_own_number_of_elements() -> None:
    means, sent, _ = met(2, [0.5, 0.9], [0, 1, 0, 1])
    assert sent == [2 * 22, 2 * 4, 2 * 22, 2 * 4]
    np.testing.assert_array_equal(means[0][0][0], means[2][0][0])
    assert np.count_nonzero(means[1][0][1]) <= 4


def test_a_message_with_room_left_adds_nothing() -> None:
    values = np.array([5.0, 0.0, 3.0, 0.0], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        case = tf.constant(0)
        chosen = choose(tf.constant(values), tf.constant(values != 0), [4], case)
        (mean,) = sparse_means(Exchange(AllReduce(1)), [chosen], case)
        np.testing.assert_array_equal(session.run(mean), values)


def test_what_has_no_room_waits() -> None:
    values = np.array([5.0, 1.0, 3.0, 2.0], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        case = tf.constant(0)
        chosen = choose(tf.constant(values), tf.constant([True] * 4), [3], case)
        (mean,) = sparse_means(Exchange(AllReduce(1)), [chosen], case)
        left = without(tf.constant(values), chosen)
        np.testing.assert_array_equal(session.run(mean), [5, 1, 3, 0])
        np.testing.assert_array_equal(session.run(left), [0, 0, 0, 2])


@pytest.mark.parametrize(
    ("size", "share", "least", "most"),
    [
        (10, 0.999, 1, 1),
        (1000, 0.75, 250, 250),
        (1 << 20, 0.999, 1049, 1500),
        (100_000, 0, 100_000, 100_000),
    ],
)
def test_room_is_for_the_kept_share_and_its_spread(
    size: int, share: float, least: int, most: int
) -> None:
    assert least <= room(size, share) <= most


def test_a_sampled_threshold_finds_room() -> None:
    values = np.random.default_rng(0).normal(size=1 << 18).astype(np.float32)
    for step in range(5):
        with tf.Graph().as_default(), tf.Session() as session:
            mask = largest_mask(tf.constant(values), tf.constant(0.99), tf.constant(step))
            found = int(session.run(tf.reduce_sum(tf.cast(mask, tf.int32))))
        assert found <= room(values.size, 0.99) < 1.2 * 0.01 * values.size
