"""Which evaluated checkpoints are exported, and how many exports stay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import MoxTypeError, MoxValueError
from moxing.estimator.contrib import StepsExporter
from moxing.estimator.serving.exporters import SavedModelExporter


class Recorded:
    """An Estimator as exporters see it; its exports are folders with nothing in them."""

    def __init__(self, model_dir: Path) -> None:
        self.model_dir, self.exported, self._time = str(model_dir), [], 1000

    def export_saved_model(self, base: str, *_: Any, checkpoint_path: str, **__: Any) -> bytes:
        self._time += 1
        os.makedirs(os.path.join(base, str(self._time)))
        self.exported.append(checkpoint_path)
        return os.path.join(base, str(self._time)).encode()


@pytest.fixture
def estimator(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def shown_to(
    exporter: SavedModelExporter, estimator: Recorded, losses: dict[int, float]
) -> list[str]:
    """The checkpoints that it exports of evaluations with these losses by step."""
    before = len(estimator.exported)
    folder = os.path.join(estimator.model_dir, "export", exporter.name)
    for step, loss in losses.items():
        result = {"loss": loss, "global_step": step}
        exporter.export(estimator, folder, f"c-{step}", result, step == max(losses))
    return estimator.exported[before:]


def write_evaluations(folder: Path, losses: dict[int, float]) -> None:
    with tf.Graph().as_default():
        writer = tf.summary.FileWriter(str(folder))
        for step, loss in losses.items():
            value = tf.Summary.Value(tag="loss", simple_value=loss)
            writer.add_summary(tf.Summary(value=[value]), step)
        writer.close()


def receiver() -> Any:
    raise AssertionError("not called here")


def test_the_best_is_better_than_all_before(estimator: Recorded, tmp_path: Path) -> None:
    exporter = tfe.BestExporter(serving_input_receiver_fn=receiver, exports_to_keep=2)
    losses = {10: 3.0, 20: 4.0, 30: 2.0, 40: 2.0, 50: 1.0}
    assert shown_to(exporter, estimator, losses) == ["c-10", "c-30", "c-50"]
    kept = sorted(os.listdir(tmp_path / "export" / "best_exporter"))
    assert kept == ["1002", "1003"]


def test_the_best_of_an_earlier_run_counts(estimator: Recorded, tmp_path: Path) -> None:
    # The evaluation of the step at hand has been written by now; it is no earlier one.
    write_evaluations(tmp_path / "eval", {10: 3.0, 20: 1.5, 30: 1.0})
    exporter = tfe.BestExporter("best", receiver)
    assert shown_to(exporter, estimator, {30: 1.0, 40: 1.2}) == ["c-30"]
    again = tfe.BestExporter("best", receiver)
    assert shown_to(again, estimator, {50: 1.1}) == []


def test_a_comparison_of_ones_own(estimator: Recorded) -> None:
    def higher(best_eval_result: Any, current_eval_result: Any) -> bool:
        return best_eval_result["loss"] < current_eval_result["loss"]

    exporter = tfe.BestExporter("best", receiver, compare_fn=higher)
    assert shown_to(exporter, estimator, {1: 3.0, 2: 2.0, 3: 4.0}) == ["c-1", "c-3"]


def test_latest_final_and_steps(estimator: Recorded) -> None:
    losses = {10: 3.0, 20: 4.0, 30: 2.0}
    every = ["c-10", "c-20", "c-30"]
    assert shown_to(tfe.LatestExporter("latest", receiver), estimator, losses) == every
    assert shown_to(tfe.FinalExporter("final", receiver), estimator, losses) == ["c-30"]
    steps = StepsExporter([5, 25], serving_input_receiver_fn=receiver)
    assert shown_to(steps, estimator, losses) == ["c-10", "c-30"]


def test_train_and_evaluate_calls_each_after_each_evaluation(
    model_fn: Any, read: Any, tmp_path: Path
) -> None:
    seen: list[tuple[int, bool]] = []

    class Mine(tfe.Exporter):
        name = "mine"  # type: ignore

        def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
            assert export_path == str(tmp_path / "export" / "mine")
            assert checkpoint_path.endswith(f"model.ckpt-{eval_result['global_step']}")
            seen.append((eval_result["global_step"], is_the_final_export))

    config = tfe.RunConfig(str(tmp_path), save_checkpoints_steps=10)
    estimator = tfe.Estimator(model_fn, config=config)
    raw = tfe.export.build_raw_serving_input_receiver_fn
    with tf.Graph().as_default():
        receiver_fn = raw({"x": tf.placeholder(tf.float32, [None, 5])})
    best = tfe.BestExporter("best", receiver_fn)
    values, exported = tfe.train_and_evaluate(
        estimator,
        tfe.TrainSpec(read(), max_steps=30),
        tfe.EvalSpec(read(epochs=1), throttle_secs=0, exporters=[Mine(), best]),
    )
    assert seen[0] == (10, False)
    assert seen[-1] == (30, True)
    folders = sorted((tmp_path / "export" / "best").iterdir())
    assert len(folders) == 3  # The loss of softmax regression falls.
    assert exported in ([], [str(folders[-1]).encode()])
    assert values["global_step"] == 30


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tfe.BestExporter("best"), MoxTypeError, "which is no function"),
        (lambda: tfe.LatestExporter("", receiver), MoxValueError, "has the name ''; give one"),
        (
            lambda: tfe.LatestExporter("a", receiver, exports_to_keep=0),
            MoxValueError,
            "exports_to_keep=0; it must be a number above 0",
        ),
        (lambda: StepsExporter([], "a", receiver), MoxValueError, "a list of numbers above 0"),
        (
            lambda: tfe.EvalSpec(
                receiver,
                exporters=[tfe.FinalExporter("a", receiver), tfe.LatestExporter("a", receiver)],
            ),
            MoxValueError,
            "two exporters of the name 'a'",
        ),
    ],
)
def test_mistakes(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()
