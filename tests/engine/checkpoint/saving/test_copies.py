"""Copies of values are written as TensorFlow writes the values, which may change meanwhile."""

from __future__ import annotations

import filecmp
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.checkpoint.saving import copies
from moxing.engine.checkpoint.saving.saver import Saver


def _variables() -> list[Any]:
    return [
        tf.get_variable("w", initializer=np.arange(6.0).reshape(2, 3), use_resource=True),
        tf.get_variable("half", initializer=tf.ones([3], tf.bfloat16), use_resource=True),
        tf.get_variable("old", initializer=tf.ones([70]), use_resource=False),
        tf.get_variable("n", initializer=np.int64(7), use_resource=True),
        tf.get_variable("texts", initializer=tf.constant(["a\0", "bc"]), use_resource=True),
        tf.get_variable("text", initializer=tf.constant("d\0"), use_resource=True),
        tf.get_variable("empty", initializer=tf.zeros([0, 2]), use_resource=True),
        tf.get_variable("parts", [10, 4], partitioner=tf.fixed_size_partitioner(3)),
        tf.get_variable("any", initializer=tf.ones([4]), validate_shape=False, use_resource=True),
    ]


def test_values_of_every_kind_are_written_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "LEAST", 0)
    for name in ("values", "copies"):
        (tmp_path / name).mkdir()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        listed = _variables()
        saver = Saver(tmp_path / "values", listed)
        copying = Saver(tmp_path / "copies", listed)
        change = [tf.assign(v, v + 1) for v in listed if isinstance(v, tf.Variable) and _adds(v)]
        start = tf.global_variables_initializer()
        graph.finalize()
        session.run(start)
        for step in range(2):  # The second save uses the memory of the first.
            saved = saver.save(session, step, {"step": step})
            commit = copying.copy(session, step, {"step": step}, lambda: b"place")
            assert commit is not None
            session.run(change)
            assert commit() == newest(tmp_path / "copies")
            for suffix in (".index", ".data-00000-of-00001"):
                other = tmp_path / "copies" / f"model.ckpt-{step}{suffix}"
                assert filecmp.cmp(saved.prefix + suffix, other, shallow=False)
            assert copying.copy(session, step, {"step": step}) is None  # It is committed.


def _adds(variable: tf.Variable) -> bool:
    return variable.dtype.base_dtype != tf.string


def test_where_memory_is_short_nothing_is_copied(
    make_model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(copies, "LEAST", 0)
    model = make_model({"w": np.zeros([3 << 18], np.float32)})
    monkeypatch.setattr(copies, "free_memory", lambda: 5 << 20)
    for step in (1, 2):
        assert model.saver.copy(model.session, step, {}) is None
    assert [record.getMessage() for record in log.records] == [
        "This checkpoint is written before the next step: 5 MB of memory are free, and writing it"
        " beside the next steps needs a copy of 3 MB."
    ]
    monkeypatch.setattr(copies, "free_memory", lambda: 6 << 20)
    assert model.saver.copy(model.session, 3, {}) is not None


def test_memory_is_needed_for_the_copies_and_for_an_eighth_of_them(
    make_model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "LEAST", 0)
    model = make_model({f"w{n}": np.zeros([1 << 18], np.float32) for n in range(8)})
    monkeypatch.setattr(copies, "free_memory", lambda: (9 << 20) - 1)
    assert model.saver.copy(model.session, 1, {}) is None
    monkeypatch.setattr(copies, "free_memory", lambda: 9 << 20)
    assert model.saver.copy(model.session, 1, {}) is not None


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ([4, 4, 4, 4], 2, [[0, 1], [2, 3]]),
        ([1, 1, 9, 1], 4, [[0, 1, 2], [3]]),
        ([0, 0], 8, [[0, 1]]),
        ([5], 8, [[0]]),
        ([], 8, []),
    ],
)
def test_values_are_fetched_in_parts_of_about_equal_size(
    sizes: list[int], count: int, expected: list[list[int]]
) -> None:
    assert copies._parts(range(len(sizes)), sizes, count) == expected


def test_few_values_and_states_that_have_no_array_are_not_copied(
    make_model: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model()
    assert model.saver.copy(model.session, 1, {}) is None
    assert model.save(1) == Checkpoint(f"{tmp_path}/model.ckpt-1", 1)
    monkeypatch.setattr(copies, "LEAST", 0)
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
        state = tf.data.experimental.make_saveable_from_iterator(iterator)
        saver = Saver(tmp_path, [tf.get_variable("v", [2])], objects=[state])
        session.run([tf.global_variables_initializer(), iterator.initializer])
        assert saver.copy(session, 2, {}) is None
        saver.save(session, 2)
