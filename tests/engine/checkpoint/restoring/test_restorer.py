"""What fits is restored; what does not is named, with the flag that skips it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.restorer import Foreign, Restorer
from moxing.engine.checkpoint.restoring.source import locate
from moxing.errors import CheckpointError

Shapes = dict[str, list[int]]


def _variables(shapes: Shapes, dtype: tf.DType = tf.float32, resource: bool = True) -> list[Any]:
    return [
        tf.get_variable(
            name,
            shape,
            tf.int64 if name.endswith("global_step") else dtype,
            initializer=tf.zeros_initializer(),
            use_resource=resource,
            trainable=False,
        )
        for name, shape in shapes.items()
    ]


def _restored(
    prefix: str,
    shapes: Shapes,
    optional: Collection[str] = (),
    dtype: tf.DType = tf.float32,
    resource: bool = True,
    resume: bool = False,
    **patterns: Any,
) -> dict[str, Any]:
    """Restores into a fresh graph, and returns the values of what was restored."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        variables = _variables(shapes, dtype, resource)
        slots = [variable for variable in variables if variable.op.name in optional]
        foreign = None if resume else Foreign(optional=slots, **patterns)
        restorer = Restorer(locate(prefix), variables, foreign=foreign)
        start = tf.variables_initializer(restorer.initialized)
        graph.finalize()
        session.run(start)
        restorer.run(session)
        everything = {*(v.op.name for v in (*restorer.restored, *restorer.initialized))}
        assert everything == set(shapes)
        return {v.op.name: session.run(v).tolist() for v in restorer.restored}


def _refusal(prefix: str, shapes: Shapes, **options: Any) -> str:
    with pytest.raises(CheckpointError) as caught:
        _restored(prefix, shapes, **options)
    return str(caught.value)


@pytest.fixture
def trained(foreign: Callable[..., str]) -> str:
    """A network with a head of three classes, its momentum and its step."""
    return foreign(
        {
            "net/conv/weights": np.ones([2, 2], np.float32),
            "net/logits/weights": np.ones([2, 3], np.float32),
            "net/logits/biases": np.ones([3], np.float32),
            "net/conv/weights/Momentum": np.ones([2, 2], np.float32),
            "global_step": np.int64(50),
        }
    )


FULL: Shapes = {
    "net/conv/weights": [2, 2],
    "net/logits/weights": [2, 3],
    "net/logits/biases": [3],
    "net/conv/weights/Momentum": [2, 2],
    "global_step": [],
}
NEW_HEAD = {**FULL, "net/logits/weights": [2, 5], "net/logits/biases": [5]}
ONES = [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("resource", [True, False])
def test_everything(trained: str, resume: bool, resource: bool) -> None:
    values = _restored(trained, FULL, resume=resume, resource=resource)
    assert set(values) == set(FULL)
    assert values["net/conv/weights"] == ONES
    assert values["global_step"] == 50


def test_the_lines_that_users_look_for(trained: str, log: pytest.LogCaptureFixture) -> None:
    log.clear()
    _restored(trained, FULL, resume=True)
    _restored(trained, FULL, exclude="logits,step")
    assert log.messages == [
        f"Restoring parameters from {trained}",
        f"Restoring parameters from {trained}",
        "Initializing, not restoring: net/logits/weights, net/logits/biases, global_step",
    ]


def test_include_and_exclude(trained: str) -> None:
    assert set(_restored(trained, FULL, include="conv")) == {
        "net/conv/weights",
        "net/conv/weights/Momentum",
    }
    values = _restored(trained, NEW_HEAD, exclude=["logits", "global_step"])
    assert set(values) == {"net/conv/weights", "net/conv/weights/Momentum"}


def test_patterns_do_not_count_on_resuming(trained: str) -> None:
    assert set(_restored(trained, FULL, resume=True, exclude="logits")) == set(FULL)


def test_the_slot_of_an_excluded_variable_is_excluded(trained: str) -> None:
    values = _restored(trained, FULL, exclude="weights$", optional=["net/conv/weights/Momentum"])
    assert set(values) == {"net/logits/biases", "global_step"}


def test_a_pattern_that_matches_nothing(trained: str, log: pytest.LogCaptureFixture) -> None:
    log.clear()
    _restored(trained, FULL, exclude="logit_s,step")
    assert log.messages[0] == "No variable matches the checkpoint pattern logit_s."
    assert log.records[0].levelname == "WARNING"


def test_slots_and_step_may_be_absent(foreign: Callable[..., str]) -> None:
    prefix = foreign({"net/conv/weights": np.ones([2, 2], np.float32)})
    shapes = {name: FULL[name] for name in FULL if "logits" not in name}
    values = _restored(prefix, shapes, optional=["net/conv/weights/Momentum"])
    assert values == {"net/conv/weights": ONES}


@pytest.mark.parametrize("resume", [True, False])
def test_the_step_in_the_scope_of_an_optimizer(foreign: Callable[..., str], resume: bool) -> None:
    prefix = foreign({"w": np.zeros([1], np.float32), "Adam/global_step": np.int32(7)})
    values = _restored(prefix, {"w": [1], "global_step": []}, resume=resume)
    assert values == {"w": [0.0], "global_step": 7}


def test_two_steps_of_which_neither_is_ours(foreign: Callable[..., str]) -> None:
    prefix = foreign({"w": np.ones([1], np.float32), "a/global_step": 1, "b/global_step": 2})
    assert _restored(prefix, {"w": [1], "global_step": []}) == {"w": [1.0]}


@pytest.mark.parametrize("target", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
@pytest.mark.parametrize("source", [np.float16, tf.bfloat16.as_numpy_dtype, np.float32, np.float64])
def test_floats_are_cast(foreign: Callable[..., str], source: Any, target: tf.DType) -> None:
    prefix = foreign({"w": np.array([0.5, -3.0], source)})
    assert _restored(prefix, {"w": [2]}, dtype=target) == {"w": [0.5, -3.0]}


@pytest.mark.parametrize("resume", [True, False])
def test_other_dtypes_are_not(foreign: Callable[..., str], resume: bool) -> None:
    prefix = foreign({"a": np.ones([1], np.float32), "b": np.ones([1], np.int32)})
    first = f"Variable 'b' has dtype float32 in the graph but int32 in {prefix}.\n"
    flag = "--checkpoint_exclude_patterns=b"
    ends = {
        True: "The model, or its optimizer, is not the one that was trained in this log_dir. Go"
        " back to that one, or choose a new log_dir and start from these weights with"
        f" --checkpoint_path={prefix} {flag}",
        False: f"To initialize what can't be restored, run with {flag}",
    }
    assert _refusal(prefix, {"a": [1], "b": [1]}, resume=resume) == first + ends[resume]


def test_another_shape(trained: str) -> None:
    assert _refusal(trained, NEW_HEAD) == (
        "Variable 'net/logits/weights' has shape [2, 5] in the graph but [2, 3] in"
        f" {trained}.\n"
        f"Variable 'net/logits/biases' has shape [5] in the graph but [3] in {trained}.\n"
        "To initialize what can't be restored, run with --checkpoint_exclude_patterns=logits"
    )


def test_the_suggested_flag_works(trained: str) -> None:
    line = _refusal(trained, {**FULL, "net/conv/weights": [3]}, exclude="step").split("=")[-1]
    values = _restored(trained, {**FULL, "net/conv/weights": [3]}, exclude=line.strip("'"))
    assert set(values) == {"net/logits/weights", "net/logits/biases", "net/conv/weights/Momentum"}


def test_another_shape_of_a_slot_is_initialized(trained: str) -> None:
    shapes = {**FULL, "net/conv/weights/Momentum": [7]}
    values = _restored(trained, shapes, optional=["net/conv/weights/Momentum"])
    assert "net/conv/weights/Momentum" not in values


def test_many_other_shapes(foreign: Callable[..., str]) -> None:
    names = [f"v{number:02}" for number in range(12)]
    prefix = foreign({"x": np.float32(1), **{name: np.ones(2, np.float32) for name in names}})
    lines = _refusal(prefix, {"x": [], **{name: [3] for name in names}}).split("\n")
    assert len(lines) == 12
    assert lines[-2] == "2 more variables do not fit."


def test_missing_variables(trained: str) -> None:
    assert _refusal(trained, {**FULL, "net/cove/weights": [2, 2]}) == (
        f"{trained} lacks this variable of the model: net/cove/weights. Did you mean"
        " 'net/conv/weights' or 'net/logits/weights' or 'net/conv/weights/Momentum'?\n"
        "To initialize what can't be restored, run with --checkpoint_exclude_patterns=cove"
    )
    several = {f"extra/v{number:02}": [1] for number in range(12)}
    assert _refusal(trained, {**FULL, **several}) == (
        f"{trained} lacks 12 variables of the model: "
        + ", ".join(f"extra/v{number:02}" for number in range(10))
        + " and 2 more.\n"
        "To initialize what can't be restored, run with --checkpoint_exclude_patterns=extra"
    )


def test_missing_variables_on_resuming(trained: str) -> None:
    shapes = {**FULL, "net/conv/weights/Adam": [2, 2], "net/logits/weights": [2, 4]}
    assert _refusal(trained, shapes, resume=True) == (
        f"Variable 'net/logits/weights' has shape [2, 4] in the graph but [2, 3] in {trained}.\n"
        f"{trained} lacks this variable of the model: net/conv/weights/Adam. Did you mean"
        " 'net/conv/weights' or 'net/conv/weights/Momentum' or 'net/logits/weights'?\n"
        "The model, or its optimizer, is not the one that was trained in this log_dir. Go back to"
        " that one, or choose a new log_dir and start from these weights with"
        f" --checkpoint_path={trained} --checkpoint_exclude_patterns=logits,Adam"
    )


def test_nothing_matches(trained: str) -> None:
    assert _refusal(trained, {"other/w": [1], "other/b": [1], "global_step": []}) == (
        f"No variable of the model is in {trained}. The model has other/w, other/b; the file has"
        " global_step, net/conv/weights, net/conv/weights/Momentum, net/logits/biases,"
        " net/logits/weights. Was it saved by another model, or in another scope?"
    )


def test_the_patterns_leave_nothing(trained: str) -> None:
    assert _refusal(trained, FULL, exclude="net,step") == (
        f"The checkpoint patterns leave nothing to restore from {trained}: the model's variables"
        " are net/conv/weights, net/logits/weights, net/logits/biases, net/conv/weights/Momentum."
        " Widen checkpoint_include_patterns or narrow checkpoint_exclude_patterns."
    )


def test_checkpoints_of_python_objects(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("w", [2], use_resource=True)
        session.run(variable.initializer)
        with session.as_default():
            prefix = tf.train.Checkpoint(layer=variable).save(str(tmp_path / "keras"))
    assert (
        f"No variable of the model is in {prefix}. It was saved by tf.train.Checkpoint, which names"
        " variables by Python attributes. The model has w; the file has"
    ) in _refusal(prefix, {"w": [2]})


def test_partitioned_variables(foreign: Callable[..., str]) -> None:
    prefix = foreign({"p": np.arange(10, dtype=np.float32).reshape(5, 2)})
    with tf.Graph().as_default(), tf.Session() as session:
        parts = tf.get_variable("p", [5, 2], partitioner=tf.fixed_size_partitioner(2))
        restorer = Restorer(locate(prefix), [parts], foreign=None)
        restorer.run(session)
        assert restorer.restored == tuple(parts)
        assert session.run(parts.as_tensor()).tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


def test_partitions_of_another_shape(foreign: Callable[..., str]) -> None:
    prefix = foreign({"a": np.float32(1), "p": np.ones([6, 2], np.float32)})
    with tf.Graph().as_default():
        parts = tf.get_variable("p", [5, 2], partitioner=tf.fixed_size_partitioner(2))
        with pytest.raises(CheckpointError) as caught:
            Restorer(locate(prefix), [parts, *_variables({"a": []})], foreign=Foreign())
    assert str(caught.value) == (
        f"Variable 'p' has shape [5, 2] in the graph but [6, 2] in {prefix}.\n"
        "To initialize what can't be restored, run with --checkpoint_exclude_patterns=p"
    )


def test_a_variable_whose_shape_the_graph_does_not_know(foreign: Callable[..., str]) -> None:
    prefix = foreign({"w": np.ones([4], np.float32)})
    for resource in (True, False):
        with tf.Graph().as_default(), tf.Session() as session:
            start = tf.placeholder_with_default(tf.zeros([2]), [None])
            variable = tf.get_variable(
                "w", initializer=start, validate_shape=False, use_resource=resource
            )
            Restorer(locate(prefix), [variable], foreign=None).run(session)
            assert session.run(variable).tolist() == [1.0] * 4


def test_the_old_format(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.Saver(
            [tf.get_variable("w", initializer=[1.0, 2.0])], write_version=tf.train.SaverDef.V1
        )
        session.run(tf.global_variables_initializer())
        prefix = saver.save(session, str(tmp_path / "old.ckpt"), write_meta_graph=False)
    assert _restored(prefix, {"w": [2]}, dtype=tf.float64) == {"w": [1.0, 2.0]}


def test_a_file_that_went_away(trained: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        restorer = Restorer(locate(trained), _variables(FULL), foreign=None)
        os.remove(trained + ".data-00000-of-00001")
        with pytest.raises(CheckpointError) as caught:
            restorer.run(session)
    assert str(caught.value) == (
        f"Checkpoint {trained} can't be read: {trained}.data-00000-of-00001; No such file or"
        " directory."
    )
    missing = Checkpoint("/nowhere/model.ckpt-1", 1)
    with tf.Graph().as_default(), pytest.raises(CheckpointError) as caught:
        Restorer(missing, _variables(FULL), foreign=None)
    assert str(caught.value) == (
        "Checkpoint /nowhere/model.ckpt-1 can't be read: Unsuccessful TensorSliceReader"
        " constructor: Failed to find any matching files for /nowhere/model.ckpt-1."
    )
