"""Evaluations without an end, or without data, say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import MoxValueError
from moxing.estimator.running import endless

Read = Callable[..., Any]
REFUSAL = (
    "The Dataset to evaluate on has no end, and steps=None asks for all of it. Pass steps= of"
    " tf.estimator.EvalSpec or of evaluate, or leave .repeat() out of its input_fn."
)


def test_a_dataset_without_end_is_evaluated_in_steps_only(
    estimator: tfe.Estimator, read: Read
) -> None:
    estimator.train(read(), max_steps=3)
    with pytest.raises(MoxValueError) as caught:
        estimator.evaluate(read(epochs=None))
    assert str(caught.value) == REFUSAL
    assert estimator.evaluate(read(epochs=None), steps=2)["global_step"] == 3

    with pytest.raises(MoxValueError) as during:
        tfe.train_and_evaluate(
            estimator, tfe.TrainSpec(read(), 6), tfe.EvalSpec(read(epochs=None), steps=None)
        )
    assert str(during.value) == REFUSAL
    # What was learned is there.
    assert estimator.latest_checkpoint() == f"{estimator.model_dir}/model.ckpt-6"


def test_a_dataset_whose_size_is_not_known_or_that_needs_a_table_is_evaluated(
    estimator: tfe.Estimator, read: Read
) -> None:
    estimator.train(read(), max_steps=3)

    def filtered() -> Any:
        initial = tf.lookup.KeyValueTensorInitializer(
            tf.constant([0, 1], tf.int64), tf.constant([0, 1], tf.int64)
        )
        table = tf.lookup.StaticHashTable(initial, -1)
        kept = read(epochs=1).dataset().filter(lambda x, y: tf.reduce_all(y >= 0))
        return kept.map(lambda x, y: (x, table.lookup(y)))

    assert estimator.evaluate(filtered)["global_step"] == 3


def test_an_evaluation_without_data_names_its_own_input_fn(
    estimator: tfe.Estimator, read: Read
) -> None:
    estimator.train(read(), max_steps=3)
    with pytest.raises(MoxValueError) as caught:
        estimator.evaluate(lambda: read(epochs=1).dataset().take(0))
    assert str(caught.value).startswith("the evaluation's input_fn gave no data: it ended before")


def test_an_evaluation_that_takes_long_says_how_far_it_is(said: Callable[[str], Any]) -> None:
    times = iter([0.0, 30.0, 59.0, 61.0, 62.0, 3700.0])
    hook = endless.Patience(lambda: next(times))
    hook.begin()
    for _ in range(5):
        hook.after_run(None, None)
    end = "and goes on to the end of its data; steps= limits it."
    assert said("The evaluation has seen") == [
        f"The evaluation has seen 3 batches in 1 min 01 s {end}",
        f"The evaluation has seen 5 batches in 1 h 02 min {end}",
    ]
