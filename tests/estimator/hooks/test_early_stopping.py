"""Metrics of evaluations end a training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.estimator.contrib import read_eval_metrics

hooks = tfe.experimental


class Asked:
    """A run's context, as a hook sees it."""

    def __init__(self) -> None:
        self.stopped = False

    def request_stop(self) -> None:
        self.stopped = True


def stops(hook: tf.train.SessionRunHook) -> bool:
    context: Any = Asked()
    hook.after_run(context, None)
    return context.stopped


@pytest.fixture
def evaluated(model_fn: Any, tmp_path: Path) -> tfe.Estimator:
    """An Estimator whose accuracy was best at step 20, with more steps up to 60."""
    made = tfe.Estimator(model_fn, str(tmp_path))
    with tf.Graph().as_default():
        writer = tf.summary.FileWriter(made.eval_dir())
        for step, accuracy in {10: 0.5, 20: 0.8, 40: 0.7, 60: 0.8}.items():
            value = tf.Summary.Value(tag="accuracy", simple_value=accuracy)
            writer.add_summary(tf.Summary(value=[value]), step)
        writer.close()
    return made


@pytest.mark.parametrize(
    ("name", "limit", "others", "expected"),
    [
        ("stop_if_no_increase_hook", 40, {}, True),
        ("stop_if_no_increase_hook", 41, {}, False),
        ("stop_if_no_increase_hook", 20, {"min_steps": 40}, False),
        ("stop_if_no_decrease_hook", 50, {}, True),
        ("stop_if_no_decrease_hook", 51, {}, False),
        ("stop_if_higher_hook", 0.75, {}, True),
        ("stop_if_higher_hook", 0.85, {}, False),
        ("stop_if_lower_hook", 0.6, {}, True),
        ("stop_if_lower_hook", 0.6, {"min_steps": 20}, False),
    ],
)
def test_when_it_stops(
    evaluated: tfe.Estimator, name: str, limit: float, others: Any, expected: bool
) -> None:
    hook = getattr(hooks, name)(evaluated, "accuracy", limit, **others)
    assert stops(hook) is expected


def test_before_the_first_evaluation_nothing_stops(model_fn: Any, tmp_path: Path) -> None:
    estimator = tfe.Estimator(model_fn, str(tmp_path))
    assert not stops(hooks.stop_if_higher_hook(estimator, "accuracy", 0))


def test_a_training_ends_by_its_evaluations(model_fn: Any, read: Any, tmp_path: Path) -> None:
    config = tfe.RunConfig(str(tmp_path), save_checkpoints_steps=10)
    estimator = tfe.Estimator(model_fn, config=config)
    hook = hooks.stop_if_higher_hook(
        estimator, "accuracy", 0.6, min_steps=20, run_every_secs=None, run_every_steps=1
    )
    values, _ = tfe.train_and_evaluate(
        estimator,
        tfe.TrainSpec(read(), max_steps=500, hooks=[hook]),
        tfe.EvalSpec(read(epochs=1), throttle_secs=0),
    )
    assert 20 <= values["global_step"] <= 22


def test_mistakes(evaluated: tfe.Estimator) -> None:
    with pytest.raises(MoxValueError, match="they have accuracy. Did you mean 'accuracy'"):
        stops(hooks.stop_if_higher_hook(evaluated, "acuracy", 0.5))
    wrong: Any = "model"
    with pytest.raises(MoxTypeError, match="estimator='model'; it must be a tf.estimator"):
        hooks.stop_if_higher_hook(wrong, "accuracy", 0.5)
    with pytest.raises(MoxValueError, match="Give one of run_every_secs"):
        hooks.stop_if_higher_hook(evaluated, "accuracy", 0.5, run_every_steps=5)


def test_evaluations_of_variables_in_memory(estimator: tfe.Estimator, read: Any, said: Any) -> None:
    hook = hooks.InMemoryEvaluatorHook(estimator, read(100, epochs=1), every_n_iter=10, name="in")
    estimator.train(read(), hooks=[hook], max_steps=25)
    found = read_eval_metrics(estimator.eval_dir("in"))
    assert list(found) == [0, 10, 20, 25]
    assert found[25]["accuracy"] > 0.9 > found[0]["accuracy"]
    assert found[25]["accuracy"] == pytest.approx(
        estimator.evaluate(read(100, epochs=1))["accuracy"]
    )


def test_in_memory_is_for_one_process(
    estimator: tfe.Estimator, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", two)
    with pytest.raises(MoxNotSupportedError, match="is for one process"):
        hooks.InMemoryEvaluatorHook(estimator, read())
    with pytest.raises(MoxValueError, match="every_n_iter=0"):
        hooks.InMemoryEvaluatorHook(estimator, read(), every_n_iter=0)
