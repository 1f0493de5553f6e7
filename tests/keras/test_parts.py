"""Names of variables, shares of a batch, and the programs that `mox run` takes for modern ones."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.keras import shards
from moxing.keras.building import names
from moxing.legacy.program import modern


class Dense(SimpleNamespace):
    pass


class BatchNormalization(SimpleNamespace):
    pass


def test_automatic_names_begin_anew_and_others_stay() -> None:
    layers = [Dense(name="dense_7"), BatchNormalization(name="batch_normalization_2")]
    layers += [Dense(name="dense_8"), Dense(name="head_2")]
    found = names.renumbered(layers, ["seed_generator_4/seed_generator_state"])
    assert found == {
        "dense_7": "dense",
        "batch_normalization_2": "batch_normalization",
        "dense_8": "dense_1",
        "seed_generator_4": "seed_generator",
    }
    assert names.of_weight("dense_8/kernel:0", found) == "dense_1/kernel"
    weights = {"dense_7/kernel": "dense/kernel", "dense_8/kernel": "dense_1/kernel"}
    assert names.of_slot("adam/dense_8_kernel_velocity", weights, found) == (
        "adam/dense_1_kernel_velocity"
    )
    assert names.of_slot("m/dense_8/kernel:0", weights, found) == "m/dense_1/kernel"
    assert names.unique(["a", "b", "a", "a"]) == ["a", "b", "a_1", "a_2"]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 64])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_shares_are_the_batch_and_their_mean_is_its(size: int, count: int) -> None:
    values = np.random.RandomState(0).randn(size)
    with tf.Graph().as_default(), tf.Session() as session:
        parts = [shards.bounds(tf.constant(size, tf.int64), n, count) for n in range(count)]
        found = session.run(parts)
    mean = np.mean([factor * values[low:high].mean() for low, high, factor in found])
    np.testing.assert_allclose(mean, values.mean(), rtol=1e-6)
    if size >= count:
        taken = np.concatenate([np.arange(low, high) for low, high, _ in found])
        np.testing.assert_array_equal(taken, np.arange(size))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import moxing.keras\n", True),
        ("import moxing.keras as mk\n", True),
        ("from moxing import keras\n", True),
        ("def main():\n    from moxing.keras import fit\n", True),
        ("import moxing.tensorflow as mox\nimport keras\n", False),
        ("print('import moxing.keras')\n", False),
    ],
)
def test_modern_programs_are_known_by_their_import(text: str, expected: bool) -> None:
    assert modern.is_modern(compile(text, "program.py", "exec")) is expected


def test_flags_of_the_launcher_become_tf_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", "")
    rest = modern.take_cluster(
        ["--epochs=3", "--job_name=worker", "--task_index=1", "--worker_hosts=a:1,b:2", "x"]
    )
    assert rest == ["--epochs=3", "x"]
    assert json.loads(os.environ["TF_CONFIG"]) == {
        "cluster": {"worker": ["a:1", "b:2"]},
        "task": {"type": "worker", "index": 1},
    }


@pytest.mark.parametrize(
    ("role", "index", "task"),
    [
        ("worker", 0, {"type": "chief", "index": 0}),
        ("worker", 2, {"type": "worker", "index": 1}),
        ("ps", 0, {"type": "ps", "index": 0}),
    ],
)
def test_the_first_worker_coordinates_where_parameter_servers_need_it(
    monkeypatch: pytest.MonkeyPatch, role: str, index: int, task: dict[str, object]
) -> None:
    monkeypatch.setenv("TF_CONFIG", "")
    own = [f"--job_name={role}", f"--task_index={index}", "--worker_hosts=a:1,b:2,c:3"]

    assert modern.take_cluster([*own, "--ps_hosts=p:4", "x"], coordinated=True) == ["x"]
    assert json.loads(os.environ["TF_CONFIG"]) == {
        "cluster": {"chief": ["a:1"], "worker": ["b:2", "c:3"], "ps": ["p:4"]},
        "task": task,
    }
    assert modern.take_cluster(own, coordinated=True) == []  # Another strategy was meant.
    assert "chief" not in json.loads(os.environ["TF_CONFIG"])["cluster"]


def test_a_coordinator_needs_a_worker_beside_it() -> None:
    with pytest.raises(MoxValueError, match="start at least two workers"):
        modern.take_cluster(["--worker_hosts=a:1", "--ps_hosts=p:4"], coordinated=True)
