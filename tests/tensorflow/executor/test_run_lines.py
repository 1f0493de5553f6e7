"""The lines of a run, to the letter, and the outputs it hands over."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing
import moxing.tensorflow as mox
from moxing.flags import hello

Run = Callable[..., Any]
Said = Callable[..., list[str]]
RATE = r"\d+\.\d{3}"


def counting(name: str = "n") -> Callable[[Any, str], mox.ModelSpec]:
    """A model_fn that logs and puts out the number of the step, from 1 on."""

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        count = tf.get_local_variable("count", initializer=0.0)
        weight = tf.get_variable("w", [], initializer=tf.ones_initializer())
        with tf.control_dependencies([inputs[0]]):
            count = tf.assign_add(count, 1.0)
        return mox.ModelSpec(
            loss=weight * count,
            log_info={"z": count, "tiny": count * 1e-5, "a": tf.constant(3), "yes": count > 2},
            output_info={name: count, "row": tf.fill([2, 3], count)},
        )

    return model_fn


def test_lines_of_a_training(run: Run, said: Said, tmp_path: Path) -> None:
    run(
        input_fn=lambda: tf.zeros([8, 2]),
        model_fn=counting(),
        log_dir=tmp_path,
        log_every_n_steps=2,
        save_summary_steps=3,
        max_number_of_steps=5,
    )
    values = [("1.000", "1.000e-05", "0.000"), ("3.000", "3.000e-05", "1.000")]
    values += [("5.000", "5.000e-05", "1.000")]
    expected = [
        "Running will end at step: 5",
        rf"Saving checkpoints for 0 into {tmp_path}/model.ckpt\.",
        *(
            rf"step: {n}\(global step: {n}\)\tsample/sec: {RATE}\tz: {z}\ttiny: {tiny}\ta: 3.000"
            rf"\tyes: {yes}"
            for n, (z, tiny, yes) in zip((0, 2), values[:2], strict=True)
        ),
        r"global_step/sec: \d+(\.\d+)?",
        rf"step: 4\(global step: 4\)\tsample/sec: {RATE}\tz: 5.000\ttiny: 5.000e-05\ta: 3.000"
        r"\tyes: 1.000",
        rf"Saving checkpoints for 5 into {tmp_path}/model.ckpt\.",
        r"Trained 5 steps, from global step 0 to 5, in [\d.]+ s: [\d,.]+ samples/s\."
        rf" Checkpoint: {tmp_path}/model.ckpt-5\. Summaries: {tmp_path}\.",
    ]
    lines = [line for line in said() if not line.startswith("Using ")]
    assert len(lines) == len(expected)
    for line, pattern in zip(lines, expected, strict=True):
        assert re.fullmatch(pattern, line), line


def test_lines_of_a_resumed_training(run: Run, said: Said, tmp_path: Path) -> None:
    run(log_dir=tmp_path, max_number_of_steps=3)
    before = len(said())
    run(log_dir=tmp_path, max_number_of_steps=7, log_every_n_steps=2)
    lines = said()[before:]
    assert lines[:2] == [
        f"Restoring parameters from {tmp_path}/model.ckpt-3",
        "Running will end at step: 7",
    ]
    steps = [line.split("\t")[0] for line in lines if line.startswith("step:")]
    assert steps == ["step: 0(global step: 3)", "step: 2(global step: 5)"]
    assert lines[-1].startswith("Trained 4 steps, from global step 3 to 7, in ")


def test_lines_of_an_evaluation(run: Run, said: Said, tmp_path: Path) -> None:
    data = np.arange(10, dtype=np.float32)

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weight = tf.get_variable("w", [], initializer=tf.ones_initializer())
        mean = tf.reduce_mean(inputs[0])
        return mox.ModelSpec(loss=weight * mean, log_info={"mean": mean, "last": inputs[0][-1]})

    def input_fn() -> Any:
        return tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensor_slices(data)).get_next()

    arguments = {"input_fn": input_fn, "model_fn": model_fn, "batch_size": 4, "log_dir": tmp_path}
    run(**arguments, max_number_of_steps=2)
    before = len(said())
    result = run(**arguments, run_mode="EVAL", max_number_of_steps=100, log_every_n_steps=2)
    lines = said()[before:]
    assert lines[0] == f"Restoring parameters from {tmp_path}/model.ckpt-2"
    assert lines[1:3] == [
        "mean: 1.500\tlast: 3.000\t[4 examples]",
        "mean: 8.500\tlast: 9.000\t[10 examples]",
    ]
    assert re.fullmatch(
        r"Evaluated 10 samples in 3 batches at global step 2 in [\d.]+ s, mean over all:"
        r"\tmean: 4\.500\tlast: 5\.800",
        lines[3],
    )
    assert len(lines) == 4
    # The mean over samples, not over batches.
    assert result.metrics["mean"] == pytest.approx(data.mean())


def test_line_of_a_training_that_is_done_already(run: Run, said: Said, tmp_path: Path) -> None:
    run(log_dir=tmp_path, max_number_of_steps=3)
    for limit in (3, 2):
        before = len(said())
        result = run(log_dir=tmp_path, max_number_of_steps=limit, model_fn=lambda inputs: 1 / 0)
        assert said()[before:] == [
            f"checkpoint in {tmp_path} is already at step 3 >= max_number_of_steps {limit};"
            " nothing to train: raise it or use another log_dir"
        ]
        assert (result.global_step, result.steps) == (3, 0)


def test_versions_are_said_once_a_process(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    hello._say_versions.cache_clear()
    with caplog.at_level(logging.INFO):
        run()
        run()
    said = [(r.name, r.getMessage()) for r in caplog.records if r.getMessage()[:6] == "Using "]
    assert said == [
        ("root", f"Using MoXing-v{moxing.__version__} (openmox)"),
        ("tensorflow", f"Using TensorFlow-{tf.version.GIT_VERSION}"),
    ]


@pytest.mark.parametrize(
    ("steps", "every", "lengths"),
    [(6, 2, [2, 2, 2]), (5, 2, [2, 2, 1]), (3, 10, [3]), (4, 1, [1, 1, 1, 1])],
)
@pytest.mark.parametrize("mode", ["TRAIN", "EVAL", "PREDICT"])
def test_outputs_come_in_order_and_the_last_list_may_be_short(
    mode: str, steps: int, every: int, lengths: list[int], run: Run, tmp_path: Path
) -> None:
    if mode != "TRAIN":
        run(model_fn=counting(), log_dir=tmp_path, max_number_of_steps=1)
    lists: list[list[dict[str, Any]]] = []
    run(
        run_mode=mode,
        model_fn=counting(),
        output_fn=lists.append,
        output_every_n_steps=every,
        log_dir=None if mode == "TRAIN" else tmp_path,
        max_number_of_steps=steps,
    )
    assert [len(outputs) for outputs in lists] == lengths
    values = [values for outputs in lists for values in outputs]
    assert [step["n"] for step in values] == list(range(1, steps + 1))
    assert list(values[0]) == ["n", "row"]
    assert isinstance(values[1]["row"], np.ndarray)
    np.testing.assert_array_equal(values[1]["row"], np.full([2, 3], 2.0))


def test_outputs_before_the_end_of_the_data_are_delivered(run: Run) -> None:
    sizes: list[int] = []
    run(
        input_fn=lambda: tf.data.Dataset.range(5),
        model_fn=lambda inputs: counting()(inputs, ""),
        output_fn=lambda outputs, **words: sizes.append(len(outputs)),
        output_every_n_steps=3,
        max_number_of_steps=100,
    )
    assert sizes == [3, 2]


def test_output_steps_without_output_fn_are_ignored(run: Run) -> None:
    assert run(output_every_n_steps=2).steps == 3
