"""A batch size is chosen by its speed, within the memory that is free."""

from __future__ import annotations

import logging
import re
import types
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import MoxValueError
from moxing.framework import peak_memory
from moxing.tensorflow.auto import batches
from moxing.tensorflow.auto.batches import Trial, choose, expected
from moxing.tensorflow.executor import run as executor

MB = 1_000_000


clock = types.SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)


@pytest.fixture(autouse=True)
def _timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps take as long as they say, however busy the machine is."""
    monkeypatch.setattr(batches, "time", clock)


def find(seconds: float = 0.0, per_sample: float = 0.0, data: int = 0, **arguments: Any) -> int:
    """Chooses for a model whose steps take that long; the data is endless if `data` is 0."""

    def pause(values: Any) -> Any:
        clock.now += seconds + per_sample * len(values)
        return np.float32(0.0)

    def input_fn(mode: str) -> tf.data.Dataset:
        samples = tf.data.Dataset.from_tensors(tf.constant([1.0]))
        return samples.repeat(data or None)

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        spent = tf.py_func(pause, [inputs[0]], tf.float32)
        spent.set_shape([])
        loss = (
            tf.reduce_mean(tf.get_variable("w", [1]) * inputs[0]) * spent
        )  # In the gradient, too.
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    given = {"start": 2, "most": 16, "steps": 3, **arguments}
    return mox.auto.batch_size(input_fn, model_fn, mox.get_optimizer_fn("sgd", 0.1), **given)


def test_larger_batches_that_take_no_longer_are_chosen(caplog: Any) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    assert find(seconds=0.03) == 16
    said = caplog.records[-1].getMessage()
    assert said.startswith("mox.auto.batch_size chose 16 (2: ")
    assert said.endswith("; no size above most=16 was tried).")
    assert said.count(" at most; ") == 4


def test_larger_batches_that_gain_nothing_are_not_chosen(caplog: Any) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    assert find(per_sample=0.02, most=1024) == 2
    assert caplog.records[-1].getMessage().endswith("; 8 gains no speed).")


def test_a_size_that_may_not_fit_is_not_tried(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    tried: list[int] = []

    def grows(trials: list[Trial], size: int) -> int:
        tried.append(size)
        return size * 100 * MB

    monkeypatch.setattr(batches, "expected", grows)
    monkeypatch.setattr(batches, "free_memory", lambda: 1500 * MB)
    assert find(seconds=0.02, most=1024) == 8
    assert tried == [4, 8, 16]
    # What the process has given back since the last trial counts too: some MB, by chance.
    told = r"16 would take about 1\.6\d* GB more memory, of which 1\.5 GB are free"
    assert re.search(told, caplog.text)


def test_the_size_before_the_end_of_memory_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    run = executor.run

    def limited(**given: Any) -> Any:
        if given["batch_size"] > 4:
            raise tf.errors.ResourceExhaustedError(None, None, "OOM")
        return run(**given)

    monkeypatch.setattr(executor, "run", limited)
    assert find(seconds=0.03) == 4
    with pytest.raises(tf.errors.ResourceExhaustedError):
        find(start=8)


def test_data_that_ends(caplog: Any) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    assert find(seconds=0.03, data=20) == 4
    assert "the data has too few samples for 8" in caplog.text
    with pytest.raises(MoxValueError) as raised:
        find(data=9)
    assert str(raised.value) == (
        "input_fn's data ended within the 5 steps that start=2 needs at least. Repeat the data"
        " (Dataset.repeat), or lower start."
    )


def test_no_trial_is_a_run_of_a_tracker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOX_LOGGERS", "wandb")  # Is not installed, which would be an error.
    assert find(most=2) == 2


def test_the_size_is_the_smallest_of_the_fast_ones() -> None:
    rates = {8: 100.0, 16: 180.0, 32: 191.0, 64: 199.0, 128: 200.0}
    assert choose([Trial(size, 0, rate=rate) for size, rate in rates.items()]) == 32


def test_memory_is_expected_to_grow_as_it_grew() -> None:
    first = Trial(8, before=100 * MB, peak=180 * MB)
    assert expected([first], 16) == 80 * MB
    flat = Trial(16, before=180 * MB, peak=180 * MB)
    steep = Trial(32, before=180 * MB, peak=500 * MB)
    assert expected([first, flat], 32) == 0
    assert expected([first, flat, steep], 64) == 640 * MB


def test_the_peak_is_that_since_the_beginning() -> None:
    del_me = np.ones(60 * MB, np.uint8)
    assert peak_memory.peak() >= 60 * MB
    del del_me
    peak_memory.begin()
    before = peak_memory.peak()
    del_me = np.ones(50 * MB, np.uint8)
    assert 45 * MB < peak_memory.peak() - before < 55 * MB
    del del_me
    assert peak_memory.now() < peak_memory.peak() - 40 * MB
