"""One group of all devices gives each of them what adding on the first device gives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph.hardware import Exchange
from moxing.engine.job.job import Loss, Model
from moxing.engine.job.updating import Updating
from moxing.engine.parallel.one_group import OneGroup

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import adam, execute, momentum, numbers, values  # noqa: E402

NAMES = [f"/device:CPU:{index}" for index in range(4)]


def session(count: int) -> tf.Session:
    config = tf.ConfigProto(device_count={"CPU": count})
    config.experimental.collective_group_leader = "/job:localhost/replica:0/task:0"
    return tf.Session(config=config)


@pytest.mark.parametrize("hint", ["auto", "nccl"])
def test_each_device_gets_the_sums_again_and_again(hint: str) -> None:
    """In buckets, alone, of two types; thirty steps in a row."""
    random = np.random.RandomState(0)
    shapes: list[Any] = [[3], [2, 2], [], [500], [5]]
    given = [[random.randn(*shape) for shape in shapes] for _ in NAMES]
    with tf.Graph().as_default() as graph:
        group = OneGroup(NAMES, 4, 7, Exchange(hint, 100), rider=tf.constant(3.0))
        tensors = []
        for own, name in zip(given, NAMES, strict=True):
            with tf.device(name):
                made = [tf.constant(value, tf.float32) for value in own]
                tensors.append([*made[:-1], tf.cast(made[-1], tf.float64)])
        sums = group.sums(tensors)
        hints = {op.get_attr("communication_hint") for op in graph.get_operations()
                 if op.type == "CollectiveReduceV2"}  # fmt: skip
        assert hints == {hint.encode()}
        with session(4) as opened:
            step = opened.make_callable([sums, group.sum_of_riders()])
            found = [step() for _ in range(30)]
    for one, rider in found:
        assert rider == 3.0
        for own in one:
            for index, total in enumerate(own):
                wanted = sum(device[index] for device in given)
                np.testing.assert_allclose(total, wanted, rtol=1e-5, atol=1e-6)


def test_a_device_starts_its_collectives_in_one_order() -> None:
    with tf.Graph().as_default():
        group = OneGroup(NAMES[:2], 2, 8, Exchange("auto", 4))
        tensors = [[tf.zeros([4]) for _ in range(3)] for _ in range(2)]
        for own in group.sums(tensors):
            first, second, third = (total.op for total in own)
            assert [first, second] == [*second.control_inputs, *third.control_inputs]


def test_compressed_sums_travel_as_float16() -> None:
    with tf.Graph().as_default() as graph:
        group = OneGroup(NAMES[:2], 2, 9, Exchange("auto", 4), compressed=True)
        ((total,), _) = group.sums([[tf.zeros([4])], [tf.zeros([4])]])
        sent = [op.inputs[0].dtype for op in graph.get_operations() if "Collective" in op.type]
    assert (total.dtype, sent) == (tf.float32, [tf.float16] * 2)


def network(inputs: Any, mode: str) -> Model:
    """Dense weights, an embedding, and batch norm's kind of update."""
    x = tf.reshape(inputs[0], [-1])
    rows = tf.get_variable("rows", initializer=tf.reshape(tf.range(80.0), [40, 2]) / 80)
    w = tf.get_variable("w", initializer=[0.5, -0.5])
    seen = tf.gather(rows, tf.cast(x, tf.int32) % 40)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(tf.tanh(seen * w), 1) - tf.cos(x)))
    return Model((Loss(loss),), {"loss": loss})


@pytest.mark.parametrize(
    ("kind", "devices"),
    [("momentum", 2), ("momentum", 4), ("clipped", 4), ("scaled", 2), ("accumulated", 4)],
)
def test_both_ways_train_alike(tmp_path: Path, kind: str, devices: int) -> None:
    fields: dict[str, Any] = {
        "momentum": {"optimizer_fns": [momentum]},
        "clipped": {"updating": Updating(clip_norm=0.02)},
        "scaled": {"dynamic_loss_scale": True, "loss_scale": 512.0, "optimizer_fns": [adam]},
        "accumulated": {"updating": Updating(accumulate=2, average_decay=0.9)},
    }[kind]

    def trained(together: bool) -> dict[str, np.ndarray]:
        given = {"model_fn": network, "input_fn": numbers(1000), "make_batches": True, **fields}
        folder = tmp_path / str(together)
        result = execute(
            **given, batch_size=2, devices=devices, copied=True, together=together, log_dir=folder
        )
        return values(result.checkpoint)

    group, added = trained(True), trained(False)
    assert group.keys() == added.keys()
    for name in group:
        np.testing.assert_allclose(group[name], added[name], rtol=1e-6, atol=1e-7, err_msg=name)
