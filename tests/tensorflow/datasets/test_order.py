"""Orders of samples: whole permutations, split among workers, entered anywhere."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.order import Order


def pairs(order: Order, first: int = 0, most: int = 10_000) -> list[tuple[int, int]]:
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.make_one_shot_iterator(order.dataset(first)).get_next()
        found = []
        try:
            while len(found) < most:
                found.append(tuple(int(part) for part in session.run(element)))
        except tf.errors.OutOfRangeError:
            pass
    return found


def samples(order: Order, first: int = 0) -> list[tuple[int, int]]:
    return [pair for pair in pairs(order, first) if pair[1] != order.samples]


def test_each_epoch_is_a_permutation_of_its_own() -> None:
    found = pairs(Order(50, 3, True, 7))
    assert [pair for pair in found if pair[1] == 50] == [(50, 50), (100, 50), (150, 50)]
    numbers = [number for _, number in samples(Order(50, 3, True, 7))]
    epochs = [numbers[:50], numbers[50:100], numbers[100:]]
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    assert epochs[0] == Order(50, 3, True, 7).of_epoch(0).tolist()
    assert epochs[2] == Order(50, 3, True, 7).of_epoch(2).tolist()


def test_seed_decides() -> None:
    assert pairs(Order(30, 2, True, -5)) == pairs(Order(30, 2, True, -5))
    assert pairs(Order(30, 2, True, -5)) != pairs(Order(30, 2, True, 6))
    assert samples(Order(4, 2, False, 6)) == list(enumerate([0, 1, 2, 3] * 2))


def test_every_order_of_three_is_as_likely() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.make_one_shot_iterator(Order(3, None, True, 1).dataset(0).batch(24_000))
        numbers = session.run(element.get_next()[1]).reshape(-1, 4)[:, :3]
    counts = collections.Counter(map(tuple, numbers.tolist()))
    assert len(counts) == 6
    chi_squared = sum((count - 1000) ** 2 / 1000 for count in counts.values())
    assert chi_squared < 20.5  # 5 degrees of freedom: exceeded once in a thousand times.


@pytest.mark.parametrize("first", [0, 1, 6, 7, 13, 20, 21, 30])
def test_goes_on_anywhere(first: int) -> None:
    order = Order(7, 3, True, 11)
    assert samples(order, first) == samples(order)[first:]


@pytest.mark.parametrize("shards", [1, 2, 3, 9])
def test_workers_see_each_sample_once_an_epoch(shards: int) -> None:
    shares = [samples(Order(7, 3, True, 11, shard, shards)) for shard in range(shards)]
    assert sorted(pair for share in shares for pair in share) == samples(Order(7, 3, True, 11))
    for shard, share in enumerate(shares):
        assert [position % shards for position, _ in share] == [shard] * len(share)
        order = Order(7, 3, True, 11, shard, shards)
        for taken in (1, len(share) - 1):
            assert samples(order, order.first_position(taken)) == share[taken:]


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_goes_on_behind_samples_that_were_left_out(shards: int) -> None:
    bad = {0, 3, 4}
    for shard in range(shards):
        order = Order(8, 4, True, 2, shard, shards)
        good = [pair for pair in samples(order) if pair[1] not in bad]
        for taken in range(len(good)):
            assert order.first_position(taken, bad) == good[taken][0]


@pytest.mark.parametrize("first", [0, 2, 20])
def test_batches_end_with_marks_of_their_own(first: int) -> None:
    order = Order(7, 3, True, 11)
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = order.batches(first, 4).batch(4, drop_remainder=True)
        element = tf.data.make_one_shot_iterator(dataset).get_next()
        batches = []
        try:
            while True:
                batches.append(session.run(element))
        except tf.errors.OutOfRangeError:
            pass
    found = [
        pair for batch in batches for pair in zip(*(part.tolist() for part in batch), strict=True)
    ]
    whole = samples(order, first)
    assert found[: len(whole)] == whole
    lacking = -len(whole) % 4
    assert found[len(whole) :] == [(21, 7)] * (lacking + 4)


def test_where_all_is_bad_there_is_no_search() -> None:
    assert Order(4, None, True, 2).first_position(3, {0, 1, 2, 3}) == 0
    assert Order(4, None, False, 2, 1, 2).first_position(3, {1, 3}) >= 0


def test_a_million_samples_need_no_graph_of_their_size() -> None:
    with tf.Graph().as_default() as graph:
        Order(1_000_000, None, True, 2).dataset(0)
        assert len(graph.as_graph_def().SerializeToString()) < 20_000


def test_numbers_are_int64() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.make_one_shot_iterator(Order(3, 1, True, 1).dataset(0)).get_next()
        assert [part.dtype for part in session.run(list(element))] == [np.int64] * 2
