"""What a program puts into SAVEABLE_OBJECTS is saved, restored and exported like variables."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.engine.export import ExportSignature
from moxing.engine.job.job import EVAL, PREDICT, TRAIN, Loss, Model
from moxing.estimator.modeling.spec import EstimatorSpec

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, exported, messages, model_fn, values  # noqa: E402


def _counted(mode: str, dense: bool = False) -> tf.Tensor:
    """How many training steps have run, as a table counts them."""
    key = tf.constant([7], tf.int64)
    if dense:
        table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, 0, -1, -2, name="counts")
    else:
        table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, 0, name="counts")
    before = [table.insert(key, table.lookup(key) + 1)] if mode == TRAIN else []
    with tf.control_dependencies(before):
        return tf.cast(table.lookup(key)[0], tf.float32)


def _counting(inputs: Any, mode: str) -> Model:
    model, count = model_fn(inputs, mode), _counted(mode)
    return dataclasses.replace(
        model,
        losses=(Loss(model.losses[0].tensor * (1.0 + 0.0 * count)),),  # The gradient needs it.
        log={"count": count},
        outputs={"count": count},
        export=ExportSignature({"x": inputs[0]}, {"y": inputs[0] + count}),
    )


def _outputs(**options: Any) -> list[float]:
    """The counts, or elements, of the steps of a run."""
    found: list[float] = []

    def keep(steps: list[dict[str, Any]]) -> None:
        found.extend(float(np.ravel(value)[0]) for step in steps for value in step.values())

    execute(output_fn=keep, output_every=1, **options)
    return found


@pytest.mark.parametrize("devices", [1, 2])
def test_a_table_counts_on_where_it_stopped(tmp_path: Path, devices: int) -> None:
    options: dict[str, Any] = {"model_fn": _counting, "log_dir": tmp_path, "devices": devices}
    first = _outputs(max_steps=3, **options)
    assert first[::devices] == [1, 2, 3]
    assert _outputs(max_steps=5, **options) == [4] * devices + [5] * devices
    assert _outputs(mode=PREDICT, max_steps=1, **{**options, "devices": 1}) == [5]


def test_a_table_is_exported(tmp_path: Path) -> None:
    result = execute(model_fn=_counting, log_dir=tmp_path, max_steps=4, export=True)
    assert exported(result.export_dir, 1.5) == 5.5


def test_a_checkpoint_without_the_table_is_no_obstacle(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    execute(model_fn=model_fn, log_dir=tmp_path, max_steps=2)
    assert _outputs(model_fn=_counting, log_dir=tmp_path, max_steps=4) == [1, 2]
    said = f"Checkpoint {tmp_path}/model.ckpt-2 has no state of counts"
    assert any(line.startswith(said) for line in messages(log))


def test_weights_of_another_run_bring_their_tables_unless_left_out(tmp_path: Path) -> None:
    execute(model_fn=_counting, log_dir=tmp_path, max_steps=3)
    other: dict[str, Any] = {
        "model_fn": _counting,
        "checkpoint_path": os.fspath(tmp_path),
        "max_steps": 5,
    }
    assert _outputs(**other) == [4, 5]
    assert _outputs(**other, restore_exclude=["counts"]) == [1, 2]


def _saved_iterator(mode: str) -> tf.Tensor:
    data = tf.data.Dataset.range(100).shuffle(20, seed=4).repeat()
    iterator = tf.data.make_initializable_iterator(data)
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    tf.add_to_collection(
        tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator)
    )
    return tf.cast(iterator.get_next(), tf.float32)


def _passing(inputs: Any, mode: str) -> Model:
    return dataclasses.replace(model_fn(inputs, mode), outputs={"x": inputs[0]})


@pytest.mark.parametrize("batched", [{}, {"batch_size": 1, "make_batches": True}])
def test_an_iterator_goes_on_where_it_was_saved(
    tmp_path: Path, log: pytest.LogCaptureFixture, batched: dict[str, Any]
) -> None:
    options = {"model_fn": _passing, "input_fn": _saved_iterator, **batched}
    whole = _outputs(max_steps=9, **options)
    parts = _outputs(max_steps=4, log_dir=tmp_path, **options)
    parts += _outputs(max_steps=9, log_dir=tmp_path, **options)
    assert parts == whole
    assert not any("starts from its beginning" in line for line in messages(log))


def test_an_iterator_of_another_run_is_left_alone(tmp_path: Path) -> None:
    options: dict[str, Any] = {"model_fn": _passing, "input_fn": _saved_iterator}
    first = _outputs(max_steps=4, log_dir=tmp_path, **options)
    anew = {"checkpoint_path": os.fspath(tmp_path), "restore_exclude": ["global_step"]}
    assert _outputs(max_steps=4, **anew, **options) == first
    assert _outputs(mode=PREDICT, max_steps=4, log_dir=tmp_path, **options) == first


def test_an_estimator_keeps_tables_of_both_kinds(tmp_path: Path) -> None:
    seen: list[float] = []

    def model(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        count = _counted(TRAIN if mode == tfe.ModeKeys.TRAIN else EVAL, dense=True)
        weight = tf.get_variable("w", [], initializer=tf.ones_initializer())
        loss = tf.square(weight) + 0.0 * tf.reduce_sum(features)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        mean = {"count": tf.metrics.mean(count)}
        shown = tf.train.SummarySaverHook(10**6, summary_op=tf.summary.scalar("count", count))
        return EstimatorSpec(
            mode,
            predictions={"count": count[None]},
            loss=loss,
            train_op=train,
            eval_metric_ops=mean,
            training_hooks=[shown],
        )

    def read() -> Any:
        return tf.data.Dataset.from_tensors(tf.ones([2])).repeat(20)

    for steps, expected in ((3, 3), (2, 5)):
        estimator = tfe.Estimator(model, os.fspath(tmp_path))
        estimator.train(read, steps=steps)
        seen.append(estimator.evaluate(read, steps=1)["count"])
        assert seen[-1] == expected
    prediction = next(iter(tfe.Estimator(model, os.fspath(tmp_path)).predict(read)))
    assert prediction["count"] == 5


def test_the_files_hold_the_parts_of_tables(tmp_path: Path) -> None:
    result = execute(model_fn=_counting, log_dir=tmp_path, max_steps=2)
    stored = values(result.checkpoint)
    assert stored["counts-keys"].tolist() == [7]
    assert stored["counts-values"].tolist() == [2]
