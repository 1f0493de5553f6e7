"""`mox.run` from end to end: what it calls, in which order, with what, and what it returns."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import MoxTypeError

Run = Callable[..., Any]


def test_arguments_are_the_documented_ones() -> None:
    parameters = inspect.signature(mox.run).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    unset = defaults["save_model_secs"]
    assert list(defaults.items()) == [
        ("input_fn", None),
        ("output_fn", None),
        ("model_fn", None),
        ("optimizer_fn", None),
        ("run_mode", "invalid"),
        ("inter_mode", None),
        ("batch_size", None),
        ("auto_batch", True),
        ("log_dir", None),
        ("max_number_of_steps", 0),
        ("checkpoint_path", None),
        ("log_every_n_steps", 10),
        ("output_every_n_steps", 0),
        ("save_summary_steps", 100),
        ("save_model_secs", unset),
        ("export_model", False),
        ("fetch_strategy_fn", None),
        ("save_model_steps", unset),
        ("others", inspect.Parameter.empty),
    ]
    assert [p.kind for p in parameters.values()] == [
        *[inspect.Parameter.POSITIONAL_OR_KEYWORD] * 18,
        inspect.Parameter.VAR_KEYWORD,
    ]


def test_an_unknown_argument_is_told_the_near_ones() -> None:
    with pytest.raises(MoxTypeError) as caught:
        mox.run(max_number_of_step=20)
    assert str(caught.value).startswith(
        "mox.run has no argument 'max_number_of_step'. Did you mean 'max_number_of_steps'"
    )


def test_functions_are_called_once_and_in_order(run: Run, model_with: Run, tmp_path: Path) -> None:
    calls: list[str] = []
    build = model_with()

    def input_fn(mode: str) -> Any:
        calls.append(f"input_fn {mode}")
        return [tf.ones([4, 3]), tf.zeros([4], tf.int32)]

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        calls.append(f"model_fn {mode}")
        assert type(inputs) is list
        return build(inputs, mode)

    def optimizer_fn() -> tf.train.Optimizer:
        calls.append("optimizer_fn")
        return tf.train.GradientDescentOptimizer(0.1)

    functions = {"input_fn": input_fn, "model_fn": model_fn, "optimizer_fn": optimizer_fn}
    run(**functions, log_dir=str(tmp_path), export_model=mox.ExportKeys.TF_SERVING)
    assert calls == ["input_fn TRAIN", "model_fn TRAIN", "optimizer_fn", "model_fn EXPORT"]

    for mode in ("EVAL", "PREDICT"):
        calls.clear()
        run(**functions, run_mode=mode, log_dir=str(tmp_path))
        assert calls == [f"input_fn {mode}", f"model_fn {mode}"]


def test_results_of_three_modes(run: Run, tmp_path: Path) -> None:
    trained = run(log_dir=str(tmp_path), max_number_of_steps=20)
    assert (trained.global_step, trained.steps) == (20, 20)
    assert 0 < trained.metrics["loss"] < np.log(2)
    assert trained.checkpoint == f"{tmp_path}/model.ckpt-20"
    assert trained.export_dir is None
    evaluated = run(run_mode="EVAL", log_dir=str(tmp_path), max_number_of_steps=2)
    assert (evaluated.global_step, evaluated.steps) == (20, 2)
    assert evaluated.metrics["loss"] < trained.metrics["loss"]
    predicted = run(run_mode="PREDICT", log_dir=str(tmp_path), max_number_of_steps=5)
    assert (predicted.global_step, predicted.steps) == (20, 5)


def test_nothing_is_written_without_a_log_dir(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run().checkpoint is None
    assert run(log_dir="").checkpoint is None
    assert os.listdir(tmp_path) == []


def test_log_dir_may_be_any_path(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for log_dir in (tmp_path / "日志 目录" / "a b", "~/model%20{1}", f"{tmp_path}/'quoted'/"):
        run(log_dir=log_dir)
        result = run(run_mode="EVAL", log_dir=log_dir, max_number_of_steps=1)
        assert result.global_step == 3
        assert str(tmp_path) in str(result.checkpoint)
        assert run(run_mode="EVAL", checkpoint_path=log_dir, max_number_of_steps=1).global_step == 3


def test_several_runs_do_not_meet(run: Run) -> None:
    with tf.Graph().as_default() as outer:
        tf.constant(1.0, name="mine")
        first = run(max_number_of_steps=5)
        second = run(max_number_of_steps=5)
        assert tf.get_default_graph() is outer
        assert [op.name for op in outer.get_operations()] == ["mine"]
    assert dict(first.metrics) == dict(second.metrics)
    assert second.global_step == 5


def test_a_run_inside_of_model_fn_is_a_run_of_its_own(run: Run, model_with: Run) -> None:
    steps: list[int] = []

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        steps.append(run(max_number_of_steps=2).steps)
        return model_with()(inputs, mode)

    assert run(model_fn=model_fn).steps == 3
    assert steps == [2]


class Owner:
    """A program that keeps its functions in an object."""

    def input_fn(self, mode: str) -> Any:
        return [tf.ones([4, 3]), tf.zeros([4], tf.int32)]

    def __call__(self, **kwargs: Any) -> tf.train.Optimizer:
        return tf.train.GradientDescentOptimizer(0.1)


def with_words(inputs: Any, mode: str, **kwargs: Any) -> mox.ModelSpec:
    return with_classes(inputs, mode, 2)


def with_classes(inputs: Any, mode: str, classes: int) -> mox.ModelSpec:
    logits = tf.matmul(inputs[0], tf.get_variable("w", [3, classes]))
    loss = tf.losses.sparse_softmax_cross_entropy(inputs[1], logits)
    return mox.ModelSpec(loss=loss)


@pytest.mark.parametrize(
    "functions",
    [
        {"input_fn": lambda: Owner().input_fn("")},
        {"input_fn": Owner().input_fn},
        {"input_fn": functools.partial(Owner.input_fn, Owner())},
        {"input_fn": lambda run_mode, **kwargs: Owner().input_fn(run_mode)},
        {"model_fn": lambda inputs: with_words(inputs, "")},
        {"model_fn": with_words},
        {"model_fn": functools.partial(with_classes, classes=2)},
        {"optimizer_fn": Owner()},
        {"optimizer_fn": lambda **kwargs: tf.train.AdamOptimizer(**kwargs)},
        {"optimizer_fn": functools.partial(tf.train.MomentumOptimizer, 0.1, momentum=0.9)},
        {"optimizer_fn": lambda: tf.train.AdagradOptimizer(0.1)},
        {"optimizer_fn": [mox.get_optimizer_fn("rmsprop", learning_rate=0.1)]},
        {"optimizer_fn": (Owner(),)},
    ],
)
def test_functions_of_every_kind(functions: dict[str, Any], run: Run) -> None:
    assert run(**functions).steps == 3


def test_variables_made_by_tf_variable_are_trained(run: Run) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weights = tf.Variable(tf.zeros([3, 2]), name="weights")
        count = tf.Variable(0, trainable=False, name="count")
        with tf.control_dependencies([count.assign_add(1)]):
            logits = tf.matmul(inputs[0], weights)
        loss = tf.losses.sparse_softmax_cross_entropy(inputs[1], logits)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss, "count": count})

    result = run(model_fn=model_fn, max_number_of_steps=40, log_every_n_steps=1)
    assert result.metrics["loss"] < 0.4
    assert result.metrics["count"] >= 39


def test_reference_variables_are_trained_too(run: Run) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        start = tf.zeros_initializer()
        weights = tf.get_variable("w", [3, 2], initializer=start, use_resource=False)
        assert weights.op.type == "VariableV2"
        loss = tf.losses.sparse_softmax_cross_entropy(inputs[1], tf.matmul(inputs[0], weights))
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    optimizer_fn = mox.get_optimizer_fn("adam", learning_rate=0.1)
    result = run(model_fn=model_fn, optimizer_fn=optimizer_fn, max_number_of_steps=30)
    assert result.metrics["loss"] < 0.4


def test_same_seed_same_numbers(run: Run, model_with: Run) -> None:
    def noisy(inputs: Any, loss: Any) -> dict[str, Any]:
        return {"noise": tf.random_uniform([])}

    model_fn = model_with(log_info=noisy)
    assert run(model_fn=model_fn).metrics != run(model_fn=model_fn).metrics
    mox.set_flag("seed", 5)
    first = run(model_fn=model_fn).metrics
    assert first == run(model_fn=model_fn).metrics
    mox.set_flag("seed", 6)
    assert first != run(model_fn=model_fn).metrics


def test_summaries_have_logged_values_the_learning_rate_and_the_speed(
    run: Run, tmp_path: Path
) -> None:
    def steps(log_dir: Path) -> dict[str, list[int]]:
        files = [str(path) for path in log_dir.glob("events*")]
        found: dict[str, list[int]] = {}
        for event in (event for file in files for event in tf.train.summary_iterator(file)):
            for value in event.summary.value:
                found.setdefault(value.tag, []).append(event.step)
        return found

    run(log_dir=tmp_path / "a", save_summary_steps=1, log_every_n_steps=2)
    found = steps(tmp_path / "a")
    assert (found["loss"], found["learning_rate"], found["sample/sec"]) == ([0, 2], [0, 2], [2])
    mox.set_flag("summary_verbosity", 1)
    run(log_dir=tmp_path / "b", save_summary_steps=1, log_every_n_steps=2)
    assert steps(tmp_path / "b")["loss"] == [0, 1, 2]


def test_only_chosen_variables_are_trained(run: Run, tmp_path: Path) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        hidden = tf.matmul(inputs[0], tf.get_variable("base/w", [3, 3]))
        logits = tf.matmul(hidden, tf.get_variable("logits/w", [3, 2]))
        return mox.ModelSpec(loss=tf.losses.sparse_softmax_cross_entropy(inputs[1], logits))

    def moved(log_dir: Path) -> set[str]:
        run(model_fn=model_fn, log_dir=log_dir)
        before, after = (tf.train.load_checkpoint(f"{log_dir}/model.ckpt-{n}") for n in (0, 3))
        names = [name for name in before.get_variable_to_shape_map() if name.endswith("/w")]
        return {n for n in names if (before.get_tensor(n) != after.get_tensor(n)).any()}

    assert moved(tmp_path / "all") == {"base/w", "logits/w"}
    mox.set_flag("trainable_include_patterns", "logits")
    assert moved(tmp_path / "included") == {"logits/w"}
    mox.set_flag("trainable_include_patterns", None)
    mox.set_flag("trainable_exclude_patterns", "logits,none")
    assert moved(tmp_path / "excluded") == {"base/w"}


def test_an_error_inside_of_model_fn_names_it_and_its_inputs(run: Run) -> None:
    def model_fn(images: Any, mode: str) -> mox.ModelSpec:
        return tf.nn.conv2d(images, tf.get_variable("w", [3, 3, 1, 2]), padding="SAME")

    with pytest.raises(Exception) as raised:  # noqa: B017, PT011
        run(input_fn=lambda: tf.zeros([4, 8, 8, 1]), model_fn=model_fn)
    line = model_fn.__code__.co_firstlineno
    assert (
        f"openmox: raised while calling model_fn (test_run.py:{line}), mode TRAIN,"
        " inputs[0]: float32 [4, 8, 8, 1]; inputs is a list also where it holds one tensor: images"
        " = inputs[0]"
    ) in raised.value.__notes__


def test_an_error_inside_of_output_fn_names_it(run: Run) -> None:
    def output_fn(outputs: Any) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as raised:
        run(output_fn=output_fn, output_every_n_steps=2)
    note = raised.value.__notes__[0]
    assert note.startswith("openmox: raised while calling output_fn (test_run.py:")
    assert note.endswith(", after step 1 of TRAIN")


def test_leaving_from_inside_of_a_function_ends_the_program(run: Run, tmp_path: Path) -> None:
    def model_fn(inputs: Any) -> mox.ModelSpec:
        raise SystemExit(3)

    with pytest.raises(SystemExit) as raised:
        run(model_fn=model_fn, log_dir=tmp_path)
    assert raised.value.code == 3
    assert run(log_dir=tmp_path).steps == 3
