"""Building calls each function of the user's once, and hands every tensor the same element."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.job.job import EXPORT, PREDICT, TRAIN, Job, Loss, Model
from moxing.engine.model import program
from moxing.errors import MoxTypeError, MoxValueError

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import (  # noqa: E402
    adam,
    execute,
    exporting,
    generated,
    make_job,
    messages,
    model_fn,
    momentum,
    numbers,
    once,
)


def outputs_of(**fields: Any) -> list[dict[str, Any]]:
    """The outputs of every step of a run, as plain values."""
    found: list[dict[str, Any]] = []
    execute(**fields, output_fn=found.extend, output_every=1)
    return [{name: value.tolist() for name, value in step.items()} for step in found]


class Closure:
    """An input_fn and a model_fn that reads a tensor of it past its inputs."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.read: list[float] = []
        self.calls: list[str] = []

    def input_fn(self, mode: str) -> Any:
        self.calls.append("input_fn")
        if self._kind == "generator":
            self.raw = generated(self._numbers)(mode)
        else:
            self.raw = numbers(40)(mode)
        return self.raw * 10

    def _numbers(self) -> Any:
        for number in range(40):
            self.read.append(number)
            yield number

    def model_fn(self, inputs: Any, mode: str) -> Model:
        self.calls.append("model_fn")
        model = model_fn(inputs, mode)
        return dataclasses.replace(model, outputs={"raw": self.raw, "given": inputs[0]})


@pytest.mark.parametrize("kind", ["generator", "range"])
def test_a_tensor_of_input_fn_in_a_closure_is_of_the_same_element(kind: str) -> None:
    closure = Closure(kind)
    found = outputs_of(input_fn=closure.input_fn, model_fn=closure.model_fn, max_steps=30)
    assert found == [{"raw": number, "given": 10 * number} for number in range(30)]
    assert closure.calls == ["input_fn", "model_fn"] * 2  # Built again, without a pipeline.
    assert closure.read == sorted(set(closure.read))


def test_a_loss_over_a_closure_sees_the_same_element() -> None:
    closure = Closure("generator")

    def lossy(inputs: Any, mode: str) -> Model:
        weights = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        apart = inputs[0] - 10 * closure.raw
        return Model(losses=(Loss(tf.square(weights - apart)),), outputs={"apart": apart})

    found = outputs_of(input_fn=closure.input_fn, model_fn=lossy, max_steps=30)
    assert found == [{"apart": 0.0}] * 30


def test_a_closure_over_a_sample_is_refused_where_batches_are_made() -> None:
    closure = Closure("range")
    with pytest.raises(MoxValueError) as caught:
        execute(
            input_fn=closure.input_fn,
            model_fn=closure.model_fn,
            batch_size=4,
            make_batches=True,
        )
    assert str(caught.value) == (
        "model_fn uses a tensor of input_fn (IteratorGetNext) that is not among its inputs. With"
        " auto_batch=True that is a single sample, not the batch: return the tensor from input_fn"
        " and take it from model_fn's inputs."
    )


@pytest.mark.parametrize("batch", [None, 2])
def test_several_iterators_advance_together_and_end_with_the_shortest(batch: int | None) -> None:
    def input_fn(mode: str) -> Any:
        first, second, third = (numbers(stop)(mode) for stop in (9, 7, 8))
        return {"first": first, "sum": second + 100 * third, "third": third}

    def three(inputs: Any, mode: str) -> Model:
        model = model_fn([inputs["first"]], mode)
        return dataclasses.replace(model, outputs=inputs)

    found = outputs_of(
        input_fn=input_fn,
        model_fn=three,
        batch_size=batch,
        make_batches=batch is not None,
        max_steps=sys.maxsize,
    )
    if batch is None:
        assert found == [{"first": n, "sum": 101 * n, "third": n} for n in range(7)]
    else:
        assert found == [
            {"first": [n, n + 1], "sum": [101 * n, 101 * (n + 1)], "third": [n, n + 1]}
            for n in (0, 2, 4)
        ]


def values_of(log_dir: Path, tag: str) -> list[tuple[int, float]]:
    (path,) = log_dir.glob("events.*")
    return [
        (event.step, value.simple_value)
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
        if value.tag == tag
    ]


def summarized(mode: str) -> Any:
    number = numbers(40)(mode)
    tf.summary.scalar("raw", number)
    return number * 2


def test_a_summary_made_in_input_fn_shows_the_element_of_its_step(tmp_path: Path) -> None:
    execute(log_dir=tmp_path, input_fn=summarized, max_steps=10, summary_every=3)
    assert values_of(tmp_path, "raw") == [(0, 0), (3, 3), (6, 6), (9, 9)]


def test_a_summary_of_a_single_sample_is_left_out_and_takes_no_data(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    def both(inputs: Any, mode: str) -> Model:
        tf.summary.scalar("batch", tf.reduce_mean(inputs[0]))
        return dataclasses.replace(model_fn(inputs, mode), outputs={"x": inputs[0]})

    fields = {"input_fn": summarized, "model_fn": both, "batch_size": 2, "make_batches": True}
    found = outputs_of(**fields, log_dir=tmp_path, max_steps=5, summary_every=2)
    assert [step["x"] for step in found] == [[4 * n, 4 * n + 2] for n in range(5)]
    assert values_of(tmp_path, "batch") == [(0, 1), (2, 9), (4, 17)]
    assert values_of(tmp_path, "raw") == []
    assert [line for line in messages(log) if "summaries" in line] == [
        "Left out are summaries of single samples, which input_fn made: raw. Make summaries in"
        " model_fn, of its inputs, which are the batch."
    ]


def test_functions_are_called_once_and_model_fn_once_more_to_export(tmp_path: Path) -> None:
    calls: list[str] = []

    def input_fn(mode: str) -> Any:
        calls.append(f"input_fn {mode}")
        return once(tf.data.Dataset.range(9).map(lambda n: tf.cast(n, tf.float32))).get_next()

    def counted(inputs: Any, mode: str) -> Model:
        calls.append(f"model_fn {mode}")
        return exporting(inputs, mode)

    def optimizer_fn() -> Any:
        calls.append("optimizer_fn")
        return momentum()

    job = make_job(
        input_fn=input_fn,
        model_fn=counted,
        optimizer_fns=[optimizer_fn],
        log_dir=tmp_path,
        export=True,
    )
    built = program.build(job)
    assert calls == [
        f"input_fn {TRAIN}",
        f"model_fn {TRAIN}",
        "optimizer_fn",
        f"model_fn {EXPORT}",
    ]
    assert built.export_graph is not None
    assert built.export_graph is not built.graph


def two_losses(inputs: Any, mode: str) -> Model:
    first = tf.get_variable("first/w", [], initializer=tf.zeros_initializer())
    second = tf.get_variable("second/w", [], initializer=tf.zeros_initializer())
    losses = [Loss(tf.square(first - inputs[0]), ("first",)), Loss(tf.abs(second), ("second",))]
    return Model(losses=tuple(losses))


def test_slots_are_what_optimizers_made() -> None:
    built = program.build(make_job(model_fn=two_losses, optimizer_fns=[momentum, adam]))
    names = sorted(variable.op.name for variable in built.slots)
    assert names == [
        "beta1_power",
        "beta2_power",
        "first/w/Momentum",
        "second/w/Adam",
        "second/w/Adam_1",
    ]


def test_one_optimizer_serves_all_losses_and_another_number_is_refused() -> None:
    program.build(make_job(model_fn=two_losses, optimizer_fns=[momentum]))
    with pytest.raises(MoxValueError) as caught:
        program.build(make_job(model_fn=two_losses, optimizer_fns=[momentum] * 3))
    assert str(caught.value) == (
        "optimizer_fn is a list of 3, but ModelSpec has 2 losses. Give one optimizer_fn, or one"
        " for each loss."
    )


def test_an_export_without_a_signature_is_refused_before_the_first_step(tmp_path: Path) -> None:
    job: Job = make_job(log_dir=tmp_path, export=True)
    with pytest.raises(MoxTypeError) as caught:
        program.build(job)
    assert str(caught.value) == "model_fn gave no export_spec in EXPORT mode."


def test_graphs_of_two_programs_do_not_meet() -> None:
    with tf.Graph().as_default() as outer:
        first, second = program.build(make_job()), program.build(make_job())
    assert first.graph is not second.graph
    assert outer.get_operations() == []


def test_a_model_that_ignores_its_inputs_ends_with_them() -> None:
    def ignoring(inputs: Any, mode: str) -> Model:
        weight = tf.get_variable("w", initializer=1.0)
        return Model(losses=(Loss(tf.square(weight)),), log={"w": weight})

    result = execute(input_fn=numbers(7), model_fn=ignoring, max_steps=1000)
    assert result.steps == 7


@pytest.mark.parametrize(("devices", "count"), [(2, 6), (3, 7), (12, 25)])
def test_outputs_come_by_step_and_then_by_device(devices: int, count: int, tmp_path: Path) -> None:
    execute(log_dir=tmp_path, max_steps=1)
    found = outputs_of(
        **{"mode": PREDICT, "devices": devices, "input_fn": numbers(count)},
        **{"model_fn": model_fn, "max_steps": 100, "optimizer_fns": (), "log_dir": str(tmp_path)},
    )
    assert found == [{"x": number} for number in range(count)]


@pytest.mark.parametrize(
    ("log_first", "values"), [(True, ["0.000", "4.000"]), (False, ["1.500", "5.500"])]
)
def test_logged_values_are_the_first_device_s_or_means(
    log: pytest.LogCaptureFixture, log_first: bool, values: list[str]
) -> None:
    def logging(inputs: Any, mode: str) -> Model:
        return dataclasses.replace(model_fn(inputs, mode), log={"x": inputs[0]})

    execute(
        **{"devices": 4, "log_first": log_first, "input_fn": numbers(100)},
        **{"model_fn": logging, "max_steps": 2, "log_every": 1},
    )
    lines = [line for line in log.messages if line.startswith("step: ")]
    assert [line.split("x: ")[1] for line in lines] == values
