"""A run that fails says what failed and in which step, and saves nothing of it."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.names import Checkpoint
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.job.job import Model
from moxing.errors import MoxRuntimeError, MoxValueError

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import (  # noqa: E402
    execute,
    generated,
    messages,
    model_fn,
    numbers,
    once,
    only_step_zero,
    same,
    values,
)


def test_an_error_in_a_generator_is_seen_and_is_no_end_of_the_data(tmp_path: Path) -> None:
    def generator() -> Iterator[float]:
        yield from (1.0, 2.0, 3.0)
        raise IndexError("record 4 has no label")

    with pytest.raises(tf.errors.OpError) as caught:
        execute(log_dir=tmp_path, input_fn=generated(generator), max_steps=sys.maxsize)
    text = str(caught.value)
    assert "IndexError: record 4 has no label" in text
    assert os.path.basename(__file__) in text
    assert "in step 3 (global step 3) of TRAIN" in " ".join(caught.value.__notes__)
    assert only_step_zero(tmp_path)


def test_nothing_is_saved_when_a_step_raises(tmp_path: Path) -> None:
    execute(log_dir=tmp_path)
    good = values(f"{tmp_path}/model.ckpt-5")

    def generator() -> Iterator[float]:
        yield from (1.0, 2.0)
        raise ValueError("torn record")

    with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: torn record") as caught:
        execute(log_dir=tmp_path, input_fn=generated(generator), max_steps=50)
    assert "in step 2 (global step 7) of TRAIN" in " ".join(caught.value.__notes__)
    assert same(values(f"{tmp_path}/model.ckpt-5"), good)
    assert newest(tmp_path) == Checkpoint(f"{tmp_path}/model.ckpt-5", 5)
    assert execute(log_dir=tmp_path, max_steps=7).global_step == 7


def test_a_training_that_saves_nothing_and_ends_with_nan_says_so() -> None:
    poisoned = generated(lambda: iter([1.0, 2.0, float("nan")]))
    with pytest.raises(MoxRuntimeError) as caught:
        execute(input_fn=poisoned, max_steps=3, log_every=100)
    assert str(caught.value).startswith(
        "at global step 3 the variable w holds nan or inf. Lower the learning rate, "
    )
    assert execute(input_fn=poisoned, max_steps=2, log_every=100).global_step == 2


@pytest.mark.parametrize("limit", ["steps", "data"])
def test_a_hook_that_raises_is_the_error_of_the_run(tmp_path: Path, limit: str) -> None:
    class Broken(tf.train.SessionRunHook):
        calls = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.calls += 1
            if self.calls == 3:
                raise KeyError("no such metric")

    def hooked(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(Broken(),))

    with pytest.raises(KeyError, match="no such metric") as caught:
        execute(log_dir=tmp_path, model_fn=hooked, input_fn=numbers(9 if limit == "data" else 99))
    assert "in step 2 (global step 2) of TRAIN" in " ".join(caught.value.__notes__)
    assert only_step_zero(tmp_path)


def test_data_of_a_hook_that_ends_is_no_end_of_the_input(tmp_path: Path) -> None:
    class Validate(tf.train.SessionRunHook):
        def begin(self) -> None:
            self._number = once(tf.data.Dataset.range(2)).get_next()

        def after_run(self, run_context: Any, run_values: Any) -> None:
            run_context.session.run(self._number)

    def hooked(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(Validate(),))

    with pytest.raises(tf.errors.OutOfRangeError) as caught:
        execute(log_dir=tmp_path, model_fn=hooked, input_fn=numbers(50))
    assert "the hook Validate's" in caught.value.__notes__[0]
    assert only_step_zero(tmp_path)


def queue_of_files(*names: str, batch: bool = False) -> Any:
    def input_fn(mode: str) -> tf.Tensor:
        files = tf.train.string_input_producer(list(names), num_epochs=1, shuffle=False)
        _, line = tf.TextLineReader().read(files)
        number = tf.reshape(tf.string_to_number(line), [])
        return tf.train.batch([number], 1) if batch else number

    return input_fn


@pytest.mark.parametrize("batch", [False, True])
def test_a_queue_that_fails_names_the_cause_and_is_no_end_of_the_data(
    tmp_path: Path, batch: bool
) -> None:
    (tmp_path / "good").write_text("1\n2\n")
    missing = f"{tmp_path}/missing"
    input_fn = queue_of_files(f"{tmp_path}/good", missing, batch=batch)
    with pytest.raises(tf.errors.NotFoundError, match=re.escape(missing)):
        execute(log_dir=tmp_path / "out", input_fn=input_fn, max_steps=50)
    assert only_step_zero(tmp_path / "out")


def test_a_queue_that_fails_behind_the_last_step_is_a_warning(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "good").write_text("1\n2\n")

    class Wait(tf.train.SessionRunHook):
        """Lets the queue run into its error before the last step."""

        def after_create_session(self, session: Any, coord: Any) -> None:
            while not any("Error reported to Coordinator" in m for m in messages(log)):
                pass

    def hooked(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(Wait(),))

    input_fn = queue_of_files(f"{tmp_path}/good", f"{tmp_path}/missing", batch=True)
    result = execute(input_fn=input_fn, model_fn=hooked, max_steps=2)
    assert result.global_step == 2
    lines = [line for line in messages(log) if line.startswith("An input thread")]
    assert len(lines) == 1
    assert lines[0].startswith(
        f"An input thread failed after it had read all data that was needed: {tmp_path}/missing;"
        " No such file"
    )


@pytest.mark.parametrize("fields", [{}, {"make_batches": True, "batch_size": 8}])
def test_an_input_without_a_batch_is_an_error(tmp_path: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(MoxValueError) as caught:
        execute(log_dir=tmp_path, input_fn=numbers(3 if fields else 0), **fields)
    assert str(caught.value) == (
        "input_fn gave no data: it ended before the first step. Check the path, pattern or number"
        " of epochs it reads, and that a batch is not larger than the data."
    )


def test_a_log_dir_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(MoxValueError) as caught:
        execute(log_dir=tmp_path / "out")
    assert str(caught.value) == (
        f"log_dir '{tmp_path}/out' can't be a directory: {tmp_path}/out is a file. Choose another"
        " log_dir."
    )


def test_a_second_run_on_a_log_dir_refuses(tmp_path: Path) -> None:
    refusals = []

    class Second(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            with pytest.raises(MoxRuntimeError) as caught:
                execute(log_dir=tmp_path)
            refusals.append(str(caught.value))

    def hooked(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), hooks=(Second(),))

    assert execute(log_dir=tmp_path, model_fn=hooked).global_step == 5
    assert len(refusals) == 1
    assert refusals[0].startswith(
        f"Another run is training in {tmp_path}: process {os.getpid()} on "
    )
    assert execute(log_dir=tmp_path, max_steps=6).global_step == 6


def test_an_error_in_a_generator_is_noted_with_the_user_s_line() -> None:
    def generator() -> Iterator[float]:
        yield 1.0
        raise RuntimeError("boom")

    with pytest.raises(tf.errors.OpError) as caught:
        execute(input_fn=generated(generator), max_steps=50)
    line = generator.__code__.co_firstlineno + 2
    assert caught.value.__notes__[-1] == (
        "openmox: raised in step 1 (global step 1) of TRAIN: generator"
        f" (test_run_errors.py:{line}) raised RuntimeError: boom."
    )
