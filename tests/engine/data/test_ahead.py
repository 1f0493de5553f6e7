"""Batches that are copied to their devices ahead train, end and resume as others do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data import ahead, feed
from moxing.engine.graph import hardware
from moxing.engine.job.job import Loss, Model

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, numbers, values  # noqa: E402

SAMPLES = 47


def session(devices: int) -> tf.Session:
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": devices}))


@pytest.mark.parametrize("devices", [1, 3])
def test_devices_take_the_elements_in_turn(devices: int) -> None:
    """Of several types, until the elements end."""
    names = [f"/device:CPU:{number}" for number in range(devices)]
    with tf.Graph().as_default(), session(devices) as opened:
        data = tf.data.Dataset.range(3 * devices).map(
            lambda n: (tf.cast(n, tf.int32), tf.cast(n, tf.float32), tf.strings.as_string(n))
        )
        initializer, take = ahead.iterator(data, names)
        taken = [take(number) for number in range(devices)]
        placed = [element[0].device for element in taken]
        assert [device[-5:] for device in placed] == [name[-5:] for name in names]
        opened.run(initializer)
        for step in range(3):
            found = opened.run(taken)
            for number, (whole, real, text) in enumerate(found):
                n = step * devices + number
                assert (whole, real, text) == (n, float(n), str(n).encode())
        with pytest.raises(tf.errors.OutOfRangeError):
            opened.run(taken)


def test_functions_name_the_task_of_their_device() -> None:
    with tf.Graph().as_default() as graph, tf.device("/job:worker/replica:0/task:3"):
        ahead.iterator(tf.data.Dataset.range(3), ["/device:GPU:0"])
        sources = [
            tf.get_static_value(op.outputs[0])
            for op in graph.get_operations()
            if op.type == "Const" and op.outputs[0].dtype == tf.string
        ]
    assert b"/job:worker/replica:0/task:3/device:CPU:0" in sources


def positioned(mode: str) -> tf.Tensor:
    """Numbers that go on behind those that earlier runs took, as openmox's readers do."""
    data = tf.data.Dataset.range(feed.current().start, SAMPLES)
    number = tf.data.make_one_shot_iterator(data).get_next()
    feed.register(number.op, number)
    return tf.cast(number, tf.float32)


def network(inputs: Any, mode: str) -> Model:
    w = tf.get_variable("w", initializer=[0.5, -0.5])
    seen = tf.get_variable("seen", initializer=0.0, trainable=False)
    loss = tf.reduce_mean(tf.square(w[0] * inputs[0] / SAMPLES + w[1]))
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, seen.assign_add(tf.reduce_sum(inputs[0])))
    return Model((Loss(loss),), {"loss": loss})


def trained(folder: Path, devices: int, *steps: int) -> dict[str, np.ndarray]:
    given = {"input_fn": positioned, "model_fn": network, "batch_size": 3, "make_batches": True}
    for last in steps:
        result = execute(**given, devices=devices, max_steps=last, log_dir=folder)
    return values(result.checkpoint)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_training_is_the_same_and_resumes(
    tmp_path: Path, devices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = trained(tmp_path / "before", devices, 99)
    made: list[int] = []
    real = ahead.iterator

    def counted(dataset: Any, names: Any) -> Any:
        made.append(len(names))
        return real(dataset, names)

    monkeypatch.setattr(ahead, "iterator", counted)
    names = tuple(f"/device:CPU:{number}" for number in range(devices))
    monkeypatch.setattr(hardware, "takes_ahead", lambda machine, count, types: names[:count])
    after = trained(tmp_path / "after", devices, 3, 4, 99)
    assert made == [devices] * 3
    for name, value in before.items():
        np.testing.assert_allclose(after[name], value, rtol=1e-6, err_msg=name)
    assert before["global_step"] == SAMPLES // (3 * devices)


def test_pipelines_whose_place_tensorflow_saves_stay_on_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware, "takes_ahead", lambda machine, count, types: ("/device:CPU:0",))
    monkeypatch.setattr(ahead, "iterator", None)
    result = execute(
        input_fn=numbers(99), batch_size=3, make_batches=True, max_steps=3, log_dir=tmp_path
    )
    assert result.global_step == 3
