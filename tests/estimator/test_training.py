"""train_and_evaluate: evaluations during training, at its end, and those of an evaluator."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError
from moxing.estimator import evaluator

Read = Callable[..., Any]


@pytest.fixture
def often(model_fn: Read, tmp_path: Path) -> tfe.Estimator:
    """Saves every 10 steps."""
    return tfe.Estimator(model_fn, tmp_path / "m", tfe.RunConfig(save_checkpoints_steps=10))


def specs(read: Read, steps: int | None = 30, **evaluation: Any) -> tuple[Any, Any]:
    given = {"steps": None, **evaluation}
    return tfe.TrainSpec(read(), steps), tfe.EvalSpec(read(epochs=1), **given)


def evaluated(said: Callable[[str], list[str]]) -> list[int]:
    return [int(line.split()[3].rstrip(":")) for line in said("Evaluation of step")]


def test_at_the_end(often: tfe.Estimator, read: Read, said: Any) -> None:
    result, exported = tfe.train_and_evaluate(often, *specs(read))

    assert evaluated(said) == [30]
    assert result["global_step"] == 30
    assert result["accuracy"] > 0.9
    assert exported == []


def test_during_training(often: tfe.Estimator, read: Read, said: Any) -> None:
    """Not what it starts from, and the last checkpoint once."""
    tfe.train_and_evaluate(often, *specs(read, throttle_secs=0))
    assert evaluated(said) == [10, 20, 30]

    result, _ = tfe.train_and_evaluate(often, *specs(read, 50, throttle_secs=0))
    assert evaluated(said) == [10, 20, 30, 40, 50]
    assert result["global_step"] == 50

    # All is done already: it says how good the model is.
    again, _ = tfe.train_and_evaluate(often, *specs(read, 50))
    assert again == pytest.approx(result, rel=1e-5)


def test_evaluations_are_in_the_metrics(often: tfe.Estimator, read: Read) -> None:
    """Those during training, and that of its own."""
    tfe.train_and_evaluate(often, *specs(read, throttle_secs=0, name="test"))
    result = often.evaluate(read(epochs=1))

    lines = Path(often.model_dir, "metrics.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [
        (line["kind"], line["global_step"], line.get("name"))
        for line in found
        if line["kind"] != "train"
    ] == [
        *(("validation", step, "test") for step in (10, 20, 30)),
        ("evaluation", 30, None),
    ]
    assert found[-1]["values"] == pytest.approx(
        {"loss": result["loss"], "accuracy": result["accuracy"]}, rel=1e-6
    )
    assert Path(often.model_dir, "report.html").exists()


def test_data_that_ends(often: tfe.Estimator, read: Read, said: Any) -> None:
    def spec() -> Any:
        return tfe.TrainSpec(read(100, epochs=4))

    evaluation = tfe.EvalSpec(read(epochs=1))
    assert tfe.train_and_evaluate(often, spec(), evaluation)[0]["global_step"] == 24
    # A job that is started again has nothing more to do.
    assert tfe.train_and_evaluate(often, spec(), evaluation)[0]["global_step"] == 24


def test_listeners_and_hooks_are_called_too(often: tfe.Estimator, read: Read) -> None:
    seen: list[Any] = []

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: int) -> None:
            seen.append(global_step_value)

    class Hook(tf.train.SessionRunHook):
        def end(self, session: Any) -> None:
            seen.append("end")

    training = tfe.TrainSpec(read(), 20, hooks=[Hook()], saving_listeners=[Listener()])
    evaluation = tfe.EvalSpec(read(epochs=1), hooks=[Hook()])
    tfe.train_and_evaluate(often, training, evaluation)
    assert seen == [0, 10, 20, 20, "end", "end"]


def test_a_final_export(often: tfe.Estimator, read: Read) -> None:
    with tf.Graph().as_default():
        features = {"x": tf.placeholder(tf.float32, [None, 5])}
        receiver = tfe.export.build_raw_serving_input_receiver_fn(features)
    exporters = [tfe.FinalExporter("served", receiver)]

    _, (path,) = tfe.train_and_evaluate(often, *specs(read, exporters=exporters))
    assert os.path.dirname(path.decode()) == f"{often.model_dir}/export/served"
    assert os.path.isfile(path.decode() + "/saved_model.pb")


def test_a_signal_during_an_evaluation_stops_the_training(
    often: tfe.Estimator, read: Read, said: Any
) -> None:
    class Signal(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            if not said("got SIGTERM"):
                os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit) as end:
        tfe.train_and_evaluate(often, *specs(read, 90, throttle_secs=0, hooks=[Signal()]))
    assert end.value.code == 143
    assert 10 <= int(often.get_variable_value("global_step")) <= 20


def as_evaluator(monkeypatch: pytest.MonkeyPatch, listed: bool = False) -> None:
    cluster = {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]}
    if listed:
        cluster["evaluator"] = ["127.0.0.1:3"]
    task = {"type": "evaluator", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))


@pytest.mark.parametrize("listed", [False, True])
def test_the_evaluator_evaluates_the_last_checkpoint(
    often: tfe.Estimator, read: Read, said: Any, monkeypatch: pytest.MonkeyPatch, listed: bool
) -> None:
    often.train(read(), max_steps=30)
    as_evaluator(monkeypatch, listed)
    assert often.train(read(), steps=5) is often  # It leaves that to others.

    result, _ = tfe.train_and_evaluate(often, *specs(read, start_delay_secs=0))

    assert result["global_step"] == 30
    assert evaluated(said) == [30]


class Elsewhere:
    """A training that goes on while the evaluator sleeps, and the clock that tells it so."""

    def __init__(self, *actions: Callable[[], Any]) -> None:
        self.now, self.slept, self.actions = 0.0, [], list(actions)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        if self.actions:
            self.actions.pop(0)()

    def clock(self) -> float:
        return self.now


def followed(estimator: Any, spec: Any, elsewhere: Elsewhere, idle: float = 100.0) -> Any:
    patience = evaluator.Patience(50.0, idle, elsewhere.sleep, elsewhere.clock)
    return evaluator.follow(estimator, 30, spec, patience)


def test_the_evaluator_follows_a_training(often: tfe.Estimator, read: Read, said: Any) -> None:
    elsewhere = Elsewhere(
        lambda: None,  # The delay at the start.
        lambda: None,  # Nothing there yet.
        lambda: often.train(read(), max_steps=12),
        lambda: None,
        lambda: often.train(read(), max_steps=30),
    )
    spec = tfe.EvalSpec(read(epochs=1), start_delay_secs=7, throttle_secs=60)

    assert followed(often, spec, elsewhere)["global_step"] == 30
    assert evaluated(said) == [12, 30]
    assert elsewhere.slept == [7, 2.0, 2.0, 60, 2.0]


def test_the_evaluator_ends_with_the_data(often: tfe.Estimator, read: Read) -> None:
    tfe.train_and_evaluate(
        often, tfe.TrainSpec(read(100, epochs=2), 30), tfe.EvalSpec(read(epochs=1))
    )
    spec = tfe.EvalSpec(read(epochs=1), start_delay_secs=0)
    assert followed(often, spec, Elsewhere())["global_step"] == 12


def test_the_evaluator_ends_with_an_early_stop(often: tfe.Estimator, read: Read, said: Any) -> None:
    """An hour of waiting for further checkpoints would end in an error."""

    class Stop(tf.train.SessionRunHook):
        def after_run(self, context: Any, values: Any) -> None:
            context.request_stop()

    spec = tfe.EvalSpec(read(epochs=1), start_delay_secs=0, throttle_secs=0)
    often.train(read(), [Stop()], max_steps=30)
    assert followed(often, spec, Elsewhere(), idle=3600.0)["global_step"] == 1
    assert said("The training ended early") == ["The training ended early, at step 1."]

    note = Path(often.model_dir, ".mox.lock.json")
    elsewhere = Elsewhere(*[lambda: note.write_text("{}")] * 40, note.unlink)
    assert followed(often, spec, elsewhere, idle=3600.0)["global_step"] == 1
    assert elsewhere.now == pytest.approx(82, abs=3)  # While another training goes on, it waits.

    often.train(read(), max_steps=12)  # Not the whole training, as far as the evaluator knows.
    with pytest.raises(MoxRuntimeError, match="training is not at its end"):
        followed(often, spec, Elsewhere())


def test_the_evaluator_says_that_it_waits(often: tfe.Estimator, read: Read, said: Any) -> None:
    often.train(read(), max_steps=5)
    spec = tfe.EvalSpec(read(epochs=1), start_delay_secs=0, throttle_secs=0)
    with pytest.raises(MoxRuntimeError):
        followed(often, spec, Elsewhere(), idle=130.0)
    assert said("Still waiting for") == [
        f"Still waiting for a checkpoint after {often.model_dir}/model.ckpt-5 in"
        f" {often.model_dir}, for {time} by now."
        for time in ("1 min 00 s", "2 min 00 s")
    ]
    elsewhere = tfe.Estimator(often.given_model_fn, f"{often.model_dir}-2")
    with pytest.raises(MoxRuntimeError):
        followed(elsewhere, spec, Elsewhere())
    assert said("Waiting for the first") == [
        f"Waiting for the first checkpoint in {elsewhere.model_dir}."
    ]


def test_the_evaluator_does_not_wait_for_ever(often: tfe.Estimator, read: Read) -> None:
    spec = tfe.EvalSpec(read(epochs=1), start_delay_secs=0, throttle_secs=0)
    with pytest.raises(MoxRuntimeError) as caught:
        followed(often, spec, Elsewhere())
    assert str(caught.value) == (
        f"The evaluator found no checkpoint in {often.model_dir} within 50 s. Does the training"
        " run, with the same model_dir? Wait longer with --session_timeout."
    )
    often.train(read(), max_steps=5)
    with pytest.raises(MoxRuntimeError) as caught:
        followed(often, spec, Elsewhere())
    assert str(caught.value) == (
        f"The evaluator found no checkpoint after {often.model_dir}/model.ckpt-5 within 100 s, and"
        " training is not at its end. Start the evaluator again when the training goes on."
    )


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda fn: tfe.TrainSpec(3),  # type: ignore[arg-type]
            MoxTypeError,
            "TrainSpec has input_fn=3, which is no function.",
        ),
        (
            lambda fn: tfe.TrainSpec(fn, max_steps=0),
            MoxValueError,
            "TrainSpec has max_steps=0; it must be a number above 0, or None.",
        ),
        (
            lambda fn: tfe.EvalSpec(fn, throttle_secs=-1),
            MoxValueError,
            "EvalSpec(throttle_secs=-1): it must be at least 0.",
        ),
        (
            lambda fn: tfe.EvalSpec(fn, exporters=[7]),
            MoxTypeError,
            "EvalSpec has the exporter 7; it must be a tf.estimator.Exporter, such as"
            " FinalExporter, LatestExporter or BestExporter.",
        ),
    ],
)
def test_mistakes(make: Any, kind: type[Exception], message: str, model_fn: Any) -> None:
    with pytest.raises(kind) as caught:
        make(model_fn)
    assert str(caught.value) == message


def test_numbers_as_programs_write_them(model_fn: Any) -> None:
    assert tfe.TrainSpec(model_fn, 1e4).max_steps == 10000  # type: ignore[arg-type]
    assert tfe.EvalSpec(model_fn, np.int64(7)).steps == 7  # type: ignore[arg-type]


def test_mistaken_arguments(often: tfe.Estimator, model_fn: Any) -> None:
    hook: Any = tf.train.SessionRunHook()
    with pytest.raises(
        MoxTypeError, match=r"^EvalSpec has hooks=<.*; give a list: hooks=\[hook\]\.$"
    ):
        tfe.EvalSpec(model_fn, hooks=hook)
    with pytest.raises(MoxTypeError) as caught:
        tfe.train_and_evaluate(often, tfe.TrainSpec(model_fn), 5)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "train_and_evaluate has eval_spec=5; it must be a tf.estimator.EvalSpec."
    )
