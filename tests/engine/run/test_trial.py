"""Placements are tried before training, which then goes on as if nothing had been tried."""

from __future__ import annotations

import dataclasses
import random
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from clusters import Job as Processes
from clusters import weights

from moxing.engine.job.job import Model
from moxing.engine.process.solo import Solo
from moxing.engine.run import trial

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, make_job, model_fn, momentum, numbers  # noqa: E402

CHOICE = re.compile(
    r"Of the placements tried for 50 steps each \(parameter_server: [\d.]+, replicated: [\d.]+"
    r" steps/s\), (parameter_server|replicated) is used\."
)


def said(log: pytest.LogCaptureFixture) -> list[str]:
    return [line for line in log.messages if "placements tried" in line or "=auto" in line]


def test_the_fastest_is_kept_and_told_in_one_line(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    speeds = {False: 10.0, True: 12.5}
    monkeypatch.setattr(trial, "_rate", lambda job, *_: speeds[job.placement.copied])
    asked = make_job(devices=2, trial=True)
    chosen = trial.choose(asked, Solo())
    assert chosen == make_job(devices=2, copied=True)
    assert said(log) == [
        "Of the placements tried for 50 steps each (parameter_server: 10.000, replicated: 12.500"
        " steps/s), replicated is used."
    ]
    speeds[False] = 13.0
    assert trial.choose(asked, Solo()) == make_job(devices=2, copied=False)


def test_training_is_as_if_nothing_had_been_tried(
    log: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Also where the data ends long before a trial's steps, and is drawn by NumPy and Python."""
    found: dict[bool, list[Any]] = {True: [], False: []}
    for tried in (True, False):
        random.seed(3)
        np.random.seed(3)

        def input_fn(mode: str) -> tf.Tensor:
            drawn = [random.random() + np.random.rand() for _ in range(24)]
            data = tf.data.Dataset.from_tensor_slices(np.array(drawn, np.float32))
            return tf.data.make_one_shot_iterator(data).get_next()

        result = execute(
            input_fn=input_fn,
            model_fn=model_fn,
            optimizer_fns=[momentum],
            **{"devices": 2, "trial": tried, "seed": 5, "log_dir": str(tmp_path / str(tried))},
            **{"batch_size": 2, "make_batches": True, "max_steps": 100},
            output_fn=found[tried].extend,
            output_every=1,
        )
        assert result.steps == 6
    assert str(found[True]) == str(found[False])
    first, second = (weights(tmp_path / str(tried)) for tried in (True, False))
    assert sorted(first) == sorted(second)
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])
    files = [
        sorted(p.name.split(".")[0] for p in (tmp_path / t).iterdir()) for t in ["True", "False"]
    ]
    assert files[0] == files[1]
    (line,) = said(log)
    assert CHOICE.fullmatch(line)


def test_one_device_has_nothing_to_try(log: pytest.LogCaptureFixture) -> None:
    execute(trial=True, max_steps=2, input_fn=numbers(10), model_fn=model_fn)
    assert said(log) == [
        "--variable_update=auto has nothing to choose from: there is one device in one process;"
        " one device is used."
    ]


def test_what_hooks_feed_is_not_tried_and_training_goes_on(log: pytest.LogCaptureFixture) -> None:
    class Feeds(tf.train.SessionRunHook):
        def __init__(self, tensor: tf.Tensor) -> None:
            self._tensor = tensor

        def before_run(self, run_context: Any) -> tf.train.SessionRunArgs:
            return tf.train.SessionRunArgs(None, {self._tensor: 2.0})

    def fed(inputs: Any, mode: str) -> Model:
        model = model_fn(inputs, mode)
        factor = tf.placeholder(tf.float32, [], name="factor")
        (loss,) = model.losses
        scaled = dataclasses.replace(loss, tensor=loss.tensor * factor)
        return dataclasses.replace(model, losses=(scaled,), hooks=(Feeds(factor),))

    result = execute(devices=2, trial=True, max_steps=3, input_fn=numbers(10), model_fn=fed)
    assert result.steps == 3
    why = "a step needs the value of factor, which a hook feeds in training only."
    assert said(log) == [
        f"--variable_update=auto could not try {name}: {why}"
        for name in ("parameter_server", "replicated")
    ]


@pytest.mark.slow
def test_all_workers_take_the_same(tmp_path: Path) -> None:
    plan = {"log_dir": str(tmp_path / "log"), "batch": 24, "shares": 2, "steps": 20}
    flags = ("--variable_update=auto", "--seed=4")
    job = Processes(tmp_path, {**plan, "runs": ["classifier/momentum"]}, 2, 1, *flags)
    assert set(job.codes().values()) == {0}, job.text("worker0")[-3000:]
    chosen = [
        re.findall(
            r"each \(distributed_replicated: [\d.]+, parameter_server: [\d.]+ steps/s\), (\w+) is",
            job.text(worker),
        )
        for worker in ("worker0", "worker1")
    ]
    assert len(chosen[0]) == 1
    assert chosen[0] == chosen[1]
    named = Processes(
        tmp_path / "named",
        {**plan, "log_dir": str(tmp_path / "named"), "runs": ["classifier/momentum"]},
        *(2, 1, f"--variable_update={chosen[0][0]}", "--seed=4"),
    )
    assert set(named.codes().values()) == {0}, named.text("worker0")[-3000:]
    tried = weights(tmp_path / "log" / "classifier" / "momentum")
    untried = weights(tmp_path / "named" / "classifier" / "momentum")
    for name, value in tried.items():
        np.testing.assert_allclose(value, untried[name], rtol=1e-6, atol=1e-6)
