"""The best checkpoints of `moxing.keras.fit`, by any metric of the history."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import BATCH, FAMILIES, X, Y, dense

import moxing.keras
from moxing.engine.checkpoint.manifest import read_extra
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.errors import CheckpointError, MoxTypeError, MoxValueError
from moxing.framework import file

Said = Callable[[str], list[str]]


def fit(model: Any, folder: Path | str | None, **more: Any) -> moxing.keras.FitResult:
    given = {"batch_size": BATCH, "epochs": 4, "seed": 1, "output_dir": folder, **more}
    return moxing.keras.fit(model, (X, Y), (X, Y), **given)


def best_of(folder: Path) -> tuple[int, dict[str, Any]]:
    found = newest(folder / "best")
    assert found is not None
    assert found.step is not None
    return found.step, read_extra(found)["best"]


def steps_in(folder: Path) -> set[int]:
    return {int(path.stem.rpartition("-")[2]) for path in (folder / "best").glob("*.index")}


class Worsens:
    """A rate so high in one epoch that the loss of this epoch is the worst."""

    @staticmethod
    def callback(package: Any, at: int) -> Any:
        class Rate(package.callbacks.Callback):  # type: ignore[misc, name-defined]
            def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
                self.model.optimizer.learning_rate.assign(3.0 if epoch == at else 0.1)

        return Rate()


@pytest.mark.parametrize("package", FAMILIES)
def test_the_best_by_a_metric_of_the_evaluation_is_kept(
    package: str, tmp_path: Path, said: Said
) -> None:
    spoiled = Worsens.callback(importlib.import_module(package), 3)
    result = fit(dense(package), tmp_path, keep_best="val_loss", callbacks=[spoiled])
    losses = result.history["val_loss"]
    at = int(np.argmin(losses))
    assert at < 3, losses
    step, record = best_of(tmp_path)
    per_epoch = result.global_step // 4
    assert step == (at + 1) * per_epoch
    assert record == {"metric": "val_loss", "value": pytest.approx(losses[at])}
    assert said("The best val_loss") == [
        f"The best val_loss, {losses[at]:.3f} at global step {step}, is in {tmp_path}/best"
    ]

    other = dense(package)
    moxing.keras.restore(other, tmp_path / "best")
    values = moxing.keras.evaluate(other, X, Y, batch_size=BATCH)
    assert values["loss"] == pytest.approx(losses[at], rel=1e-5)
    moxing.keras.restore(other, tmp_path)
    values = moxing.keras.evaluate(other, X, Y, batch_size=BATCH)
    assert values["loss"] == pytest.approx(losses[-1], rel=1e-5)


def test_several_are_kept_and_the_pointer_names_the_best(tmp_path: Path) -> None:
    result = fit(dense("keras"), tmp_path, keep_best="val_loss:min:2")
    losses = result.history["val_loss"]
    per_epoch = result.global_step // 4
    order = sorted(range(4), key=lambda epoch: losses[epoch])
    assert steps_in(tmp_path) == {(epoch + 1) * per_epoch for epoch in order[:2]}
    assert best_of(tmp_path)[0] == (order[0] + 1) * per_epoch


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("rate", [0.1, 3.0])
def test_a_resumed_run_in_a_store_knows_all_values_to_beat(rate: float, tmp_path: Path) -> None:
    """Whether the epochs that follow are among the best or not, all is as on the disk."""
    for folder in (str(tmp_path / "disk"), "s3://bucket/run"):
        for epochs in (3, 5):
            spoiled = Worsens.callback(importlib.import_module("keras"), 3 if rate > 1 else 9)
            fit(
                dense("keras"),
                folder,
                keep_best="val_loss:min:2",
                epochs=epochs,
                callbacks=[spoiled],
            )
    file.copy_parallel("s3://bucket/run", tmp_path / "store")
    assert len(steps_in(tmp_path / "disk")) == 2
    assert steps_in(tmp_path / "store") == steps_in(tmp_path / "disk")
    assert best_of(tmp_path / "store") == best_of(tmp_path / "disk")
    listed = (tmp_path / "store" / "best" / "checkpoint").read_text()
    assert listed == (tmp_path / "disk" / "best" / "checkpoint").read_text()


def test_a_direction_against_the_name_keeps_the_largest(tmp_path: Path) -> None:
    result = fit(dense("keras"), tmp_path, keep_best="val_loss:max")
    assert best_of(tmp_path)[1]["value"] == pytest.approx(max(result.history["val_loss"]))


def test_a_metric_of_the_training(tmp_path: Path) -> None:
    result = fit(dense("keras"), tmp_path, keep_best="loss")
    assert best_of(tmp_path)[1] == {
        "metric": "loss",
        "value": pytest.approx(min(result.history["loss"])),
    }


def test_evaluations_within_an_epoch_count(tmp_path: Path) -> None:
    fit(dense("keras"), tmp_path, keep_best="val_loss", eval_every=1, epochs=1)
    assert best_of(tmp_path)[0] >= 1


def test_a_resumed_run_knows_the_value_to_beat(tmp_path: Path) -> None:
    fit(dense("keras"), tmp_path, keep_best="val_loss", epochs=2)
    before = best_of(tmp_path)
    spoiled = Worsens.callback(importlib.import_module("keras"), 2)
    fit(dense("keras"), tmp_path, keep_best="val_loss", epochs=3, callbacks=[spoiled])
    assert best_of(tmp_path) == before


def test_a_metric_that_no_evaluation_has_is_said(tmp_path: Path, said: Said) -> None:
    fit(dense("keras"), tmp_path, keep_best="val_los", epochs=2)
    (line,) = said("val_los'")
    assert "fit's keep_best names the metric 'val_los'" in line
    assert "Did you mean 'val_loss'" in line


def test_the_environment_overrides_the_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_KEEP_BEST", "loss:min:2")
    fit(dense("keras"), tmp_path, keep_best="val_loss")
    assert best_of(tmp_path)[1]["metric"] == "loss"
    assert len(steps_in(tmp_path)) == 2


def test_settings_that_can_not_be(tmp_path: Path) -> None:
    with pytest.raises(MoxValueError, match="without output_dir="):
        fit(dense("keras"), None, keep_best="val_loss")
    with pytest.raises(MoxValueError, match="without eval_data"):
        moxing.keras.fit(
            dense("keras"), (X, Y), batch_size=BATCH, output_dir=tmp_path, keep_best="val_loss"
        )
    for bad in ("", ":max", "val_loss:0", "val_loss:", 3, True):
        with pytest.raises(MoxValueError, match="name of a metric"):
            fit(dense("keras"), tmp_path, keep_best=bad)


def test_a_restore_that_can_not_be(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is a directory without a checkpoint"):
        moxing.keras.restore(dense("keras"), tmp_path)
    with pytest.raises(MoxTypeError, match="give the path of a checkpoint"):
        moxing.keras.restore(dense("keras"), 3)
