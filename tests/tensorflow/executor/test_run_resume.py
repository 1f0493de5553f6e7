"""Where a run starts: resumed, warm-started, filtered; and when it saves."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import CheckpointError, MoxValueError

Run = Callable[..., Any]
Said = Callable[..., list[str]]


def value(log_dir: Path | str, name: str, step: int) -> np.ndarray:
    return tf.train.load_checkpoint(f"{log_dir}/model.ckpt-{step}").get_tensor(name)


def steps_saved(log_dir: Path) -> list[int]:
    found = (re.fullmatch(r"model\.ckpt-(\d+)\.index", name) for name in os.listdir(log_dir))
    return sorted(int(match[1]) for match in found if match)


def momentum() -> tf.train.Optimizer:
    return tf.train.MomentumOptimizer(0.1, 0.9)


def test_two_halves_are_one_whole(run: Run, tmp_path: Path) -> None:
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    run(optimizer_fn=momentum, log_dir=whole, max_number_of_steps=6)
    first = run(optimizer_fn=momentum, log_dir=halves, max_number_of_steps=3)
    second = run(optimizer_fn=momentum, log_dir=halves, max_number_of_steps=6)
    assert (first.global_step, first.steps) == (3, 3)
    assert (second.global_step, second.steps) == (6, 3)
    for name in ("w", "w/Momentum"):
        np.testing.assert_array_equal(value(whole, name, 6), value(halves, name, 6))


@pytest.mark.parametrize("form", ["{0}", "{0}/", "{0}/model.ckpt-3", "{0}/model.ckpt-3.index"])
def test_checkpoint_path_of_every_form(form: str, run: Run, tmp_path: Path) -> None:
    old = tmp_path / "old"
    run(log_dir=old)
    path = form.format(old)
    for mode in ("EVAL", "PREDICT"):
        assert run(run_mode=mode, checkpoint_path=path).global_step == 3
    resumed = run(checkpoint_path=path, log_dir=tmp_path / "new", max_number_of_steps=5)
    assert (resumed.global_step, resumed.steps) == (5, 2)
    assert steps_saved(tmp_path / "new") == [3, 5]


def test_log_dir_wins_over_checkpoint_path(run: Run, said: Said, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    run(log_dir=other, max_number_of_steps=9)
    run(log_dir=mine, max_number_of_steps=2)
    before = len(said())
    trained = run(log_dir=mine, checkpoint_path=str(other), max_number_of_steps=4)
    assert trained.steps == 2
    ignored = f"Ignoring --checkpoint_path because a checkpoint already exists in {mine}"
    assert said()[before] == ignored
    assert said("TWO CHECKPOINTS") == []

    for mode in ("EVAL", "PREDICT"):
        before = len(said())
        result = run(run_mode=mode, log_dir=mine, checkpoint_path=str(other))
        assert result.global_step == 4
        assert said()[before : before + 2] == [
            ignored,
            f"TWO CHECKPOINTS: this run uses {mine}/model.ckpt-4 of log_dir and NOT"
            f" {other}/model.ckpt-9 of checkpoint_path. To use the latter, set log_dir to a"
            " directory without checkpoints.",
        ]


def test_the_same_checkpoint_twice_is_no_conflict(run: Run, said: Said, tmp_path: Path) -> None:
    run(log_dir=tmp_path)
    run(run_mode="EVAL", log_dir=tmp_path, checkpoint_path=f"{tmp_path}/model.ckpt-3")
    assert said("Ignoring") == []


def test_other_optimizer_than_in_the_checkpoint(run: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path / "old")
    result = run(
        optimizer_fn=momentum,
        checkpoint_path=str(tmp_path / "old"),
        log_dir=tmp_path / "new",
        max_number_of_steps=4,
    )
    assert result.steps == 1
    assert (value(tmp_path / "new", "w/Momentum", 3) == 0).all()
    assert (value(tmp_path / "new", "w/Momentum", 4) != 0).all()


def test_counting_again_from_0(run: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path / "old")
    mox.set_flag("checkpoint_exclude_patterns", "global_step")
    result = run(checkpoint_path=str(tmp_path / "old"), log_dir=tmp_path / "new")
    assert (result.global_step, result.steps) == (3, 3)
    old, new = (value(tmp_path / name, "w", step) for name, step in (("old", 3), ("new", 0)))
    np.testing.assert_array_equal(old, new)


def test_weights_past_the_limit(run: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path / "old")
    with pytest.raises(MoxValueError, match="global_step") as raised:
        run(checkpoint_path=str(tmp_path / "old"), log_dir=tmp_path / "new")
    assert "step 3" in str(raised.value)
    assert steps_saved(tmp_path / "new") == []


def head(classes: int) -> Any:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        hidden = tf.matmul(inputs[0], tf.get_variable("base/w", [3, 4]))
        logits = tf.matmul(hidden, tf.get_variable("logits/w", [4, classes]))
        return mox.ModelSpec(loss=tf.losses.sparse_softmax_cross_entropy(inputs[1], logits))

    return model_fn


def test_another_number_of_classes(run: Run, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    run(model_fn=head(2), log_dir=old)
    arguments = {"checkpoint_path": str(old), "log_dir": new, "max_number_of_steps": 5}
    with pytest.raises(CheckpointError) as raised:
        run(model_fn=head(7), **arguments)
    told = str(raised.value)
    assert f"Variable 'logits/w' has shape [4, 7] in the graph but [4, 2] in {old}" in told
    assert "--checkpoint_exclude_patterns=logits" in told

    mox.set_flag("checkpoint_exclude_patterns", "logits")
    assert run(model_fn=head(7), **arguments).steps == 2
    np.testing.assert_array_equal(value(old, "base/w", 3), value(new, "base/w", 3))


def test_only_included_variables_are_restored(run: Run, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    run(model_fn=head(2), log_dir=old)
    mox.set_flag("checkpoint_include_patterns", "base")
    assert run(model_fn=head(2), checkpoint_path=str(old), log_dir=new).steps == 3
    np.testing.assert_array_equal(value(old, "base/w", 3), value(new, "base/w", 0))
    assert (value(old, "logits/w", 3) != value(new, "logits/w", 0)).any()


@pytest.mark.parametrize(
    ("arguments", "saved"),
    [
        ({}, [0, 7]),
        ({"save_model_secs": None}, [0, 7]),
        ({"save_model_steps": 3}, [0, 3, 6, 7]),
        ({"save_model_secs": None, "save_model_steps": 3}, [0, 3, 6, 7]),
        ({"save_model_secs": 3600, "save_model_steps": 3}, [0, 7]),
        ({"save_model_secs": float("inf"), "save_model_steps": None}, [0, 7]),
        ({"save_model_secs": 1e-9}, [3, 4, 5, 6, 7]),
    ],
)
def test_when_checkpoints_are_saved(
    arguments: dict[str, Any], saved: list[int], run: Run, said: Said, tmp_path: Path
) -> None:
    run(log_dir=tmp_path, max_number_of_steps=7, **arguments)
    announced = [int(line.split()[3]) for line in said("Saving checkpoints for")]
    assert announced == ([0, *range(1, 8)] if arguments.get("save_model_secs") == 1e-9 else saved)
    # The five newest are kept.
    assert steps_saved(tmp_path)[-5:] == saved[-5:]


def test_evaluation_saves_nothing(run: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path)
    before = sorted(os.listdir(tmp_path))
    run(run_mode="EVAL", log_dir=tmp_path, save_model_steps=1, save_summary_steps=1)
    assert sorted(os.listdir(tmp_path)) == before


def test_steps_of_an_evaluation_do_not_depend_on_the_global_step(run: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path, max_number_of_steps=9)
    for mode in ("EVAL", "PREDICT"):
        result = run(run_mode=mode, log_dir=tmp_path, max_number_of_steps=4)
        assert (result.global_step, result.steps) == (9, 4)


def test_two_evaluations_give_the_same_numbers(run: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path, max_number_of_steps=5)
    first, second = (run(run_mode="EVAL", log_dir=tmp_path).metrics for _ in range(2))
    assert dict(first) == dict(second)
