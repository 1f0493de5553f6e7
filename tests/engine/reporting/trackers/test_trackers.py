"""Trainings report to the experiment trackers that MOX_LOGGERS names, and outlive them.

The stand-ins have the calls of wandb 0.31 and mlflow 3.17 that openmox makes; the last test makes
the same runs with the packages themselves, where they are installed.
"""

from __future__ import annotations

import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.engine.reporting.trackers.tracker import Sender
from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.flags import recording


class WandbStandIn(types.ModuleType):
    """`wandb`: one active run at most."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.run: Any = None
        self.ended: list[int] = []
        self.rows: list[dict[str, Any]] = []
        self.axes: dict[str, str] = {}

    def init(self, name: str | None, config: dict[str, Any]) -> Any:
        self.name, self.config = name, config
        self.run = self
        return self

    def define_metric(self, name: str, step_metric: str = "", hidden: bool = False) -> None:
        self.axes[name] = step_metric

    def log(self, row: dict[str, Any]) -> None:
        self.rows.append(row)

    def finish(self, exit_code: int) -> None:
        self.ended.append(exit_code)
        self.run = None


class MlflowStandIn(types.ModuleType):
    """`mlflow`: the active run belongs to a thread; a parameter and a metric have plain names."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self._own = threading.local()
        self.params: dict[str, str] = {}
        self.metrics: list[tuple[str, float, int, int]] = []
        self.states: list[str] = []
        self.entities = types.SimpleNamespace(Metric=lambda *parts: parts)

    def active_run(self) -> Any:
        return getattr(self._own, "run", None)

    def start_run(self, run_name: str | None) -> Any:
        self.name = run_name
        told = types.SimpleNamespace(
            info=types.SimpleNamespace(run_id="r1"), data=types.SimpleNamespace(params=self.params)
        )
        self._own.run = told
        return told

    def end_run(self, status: str) -> None:
        self._own.run = None
        self.states.append(status)

    def MlflowClient(self) -> MlflowStandIn:
        return self

    def log_param(self, run_id: str, key: str, value: str) -> None:
        assert run_id == "r1"
        assert not key.startswith("-")
        self.params[key] = value

    def log_batch(self, run_id: str, metrics: list[Any]) -> None:
        assert threading.current_thread() is not threading.main_thread()
        self.metrics += metrics

    def set_terminated(self, run_id: str, status: str) -> None:
        self.states.append(status)


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> WandbStandIn:
    made = WandbStandIn()
    monkeypatch.setitem(sys.modules, "wandb", made)
    monkeypatch.setattr(recording, "is_installed", lambda name: True)
    return made


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> MlflowStandIn:
    made = MlflowStandIn()
    monkeypatch.setitem(sys.modules, "mlflow", made)
    monkeypatch.setattr(recording, "is_installed", lambda name: True)
    return made


@pytest.fixture(autouse=True)
def _named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOX_LOGGERS", "tensorboard, wandb,mlflow")


def train(log_dir: Path | None, fails: bool = False, steps: int = 3) -> None:
    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        weight = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        loss = tf.square(weight - 1.0) * tf.reduce_mean(inputs[0])
        hook = mox.LogEvaluationMetricHook({"l o:ss(1)": loss}, 2, 2, 1, 2)
        if fails:
            loss += tf.py_func(lambda: 1 / 0, [], tf.float32)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[hook])

    mox.run(
        input_fn=lambda mode: tf.constant(1.0),
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.5),
        run_mode=mox.ModeKeys.TRAIN,
        inter_mode=mox.ModeKeys.EVAL,
        batch_size=1,
        log_dir=log_dir,
        max_number_of_steps=steps,
        log_every_n_steps=1,
    )


def test_a_training_is_a_run_of_each_tracker(
    tmp_path: Path, wandb: WandbStandIn, mlflow: MlflowStandIn
) -> None:
    mox.set_flag("seed", 3)
    train(tmp_path / "first")
    assert wandb.name == mlflow.name == "first"
    assert wandb.config["--seed"] == 3
    assert mlflow.params["seed"] == "3"
    losses = [(row["global_step"], row["loss"]) for row in wandb.rows if "loss" in row]
    assert losses == [(0, 1.0), (1, 0.0), (2, 0.0)]
    assert [(m[3], m[1]) for m in mlflow.metrics if m[0] == "loss"] == losses
    assert wandb.axes["loss"] == wandb.axes["validation_metrics/l o:ss(1)"] == "global_step"
    assert {"validation_metrics/l o:ss_1_", "samples_per_second"} <= {m[0] for m in mlflow.metrics}
    assert wandb.ended == [0]
    assert set(mlflow.states) == {"FINISHED"}
    assert mlflow.active_run() is None


def test_a_run_of_the_program_stays_open(wandb: WandbStandIn, mlflow: MlflowStandIn) -> None:
    wandb.init("mine", {})
    mlflow.start_run("mine")
    train(None)
    assert (wandb.ended, mlflow.states) == ([], [])
    assert wandb.run is not None
    assert [row["loss"] for row in wandb.rows if "loss" in row] == [1.0, 0.0, 0.0]
    assert len([m for m in mlflow.metrics if m[0] == "loss"]) == 3


def test_a_training_that_fails_is_said_to(
    tmp_path: Path, wandb: WandbStandIn, mlflow: MlflowStandIn
) -> None:
    with pytest.raises(tf.errors.UnknownError):
        train(tmp_path, fails=True)
    assert wandb.ended == [1]
    assert set(mlflow.states) == {"FAILED"}


def test_a_tracker_that_starts_no_run_stops_the_training(
    tmp_path: Path, wandb: WandbStandIn, mlflow: MlflowStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(run_name: str | None) -> None:
        raise OSError("no server")

    monkeypatch.setattr(mlflow, "start_run", fails)
    with pytest.raises(MoxRuntimeError) as raised:
        train(tmp_path)
    assert str(raised.value) == (
        "mlflow, which MOX_LOGGERS (mox run --loggers) names, starts no run: OSError: no server. To"
        " go on: check MLFLOW_TRACKING_URI; or leave mlflow out."
    )
    assert wandb.ended == [1]
    assert not list(tmp_path.glob("*.index"))


def test_a_tracker_that_fails_later_is_left(
    wandb: WandbStandIn, mlflow: MlflowStandIn, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def fails(run_id: str, metrics: Any) -> None:
        raise OSError("connection lost")

    monkeypatch.setattr(mlflow, "log_batch", fails)
    train(None)
    said = [record.getMessage() for record in caplog.records if "mlflow" in record.getMessage()]
    assert said == [
        "mlflow gets no further values of this run, which goes on without it: OSError: connection"
        " lost"
    ]
    assert len([row for row in wandb.rows if "loss" in row]) == 3


def test_a_tracker_that_hangs_is_not_waited_for(caplog: Any) -> None:
    class Hanging:
        name = "hanging"

        def log(self, step: int, values: Any) -> None:
            time.sleep(30)

        def finish(self, failed: bool) -> None: ...

        def release(self, failed: bool) -> None:
            raise AssertionError

    sender = Sender([Hanging()], end_seconds=0.2)
    begun = time.monotonic()
    sender.log(1, {"loss": 1.0})
    sender.close(failed=False)
    assert time.monotonic() - begun < 5
    assert "hanging: not everything was sent within 0.2 s" in caplog.text


def test_names_of_no_tracker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "is_installed", lambda name: False)
    with pytest.raises(MoxValueError) as missing:
        recording.loggers()
    assert str(missing.value) == (
        "MOX_LOGGERS (mox run --loggers) names wandb, which is not installed here: `pip install"
        " wandb`, or leave it out."
    )
    monkeypatch.setenv("MOX_LOGGERS", "mlfow")
    with pytest.raises(MoxValueError, match="Did you mean 'mlflow'"):
        recording.loggers()
    monkeypatch.setenv("MOX_LOGGERS", "tensorboard")
    assert recording.loggers() == ()


def test_the_packages_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    train(tmp_path / "run")
    assert list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))
    (told,) = mlflow.MlflowClient().search_runs(["0"])
    assert (told.info.run_name, told.info.status) == ("run", "FINISHED")
    history = mlflow.MlflowClient().get_metric_history(told.info.run_id, "loss")
    assert [(point.step, point.value) for point in history] == [(0, 1.0), (1, 0.0), (2, 0.0)]
