"""`--dry_run` of `moxing.keras`: two steps, one batch of an evaluation, and nothing kept."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from models import BATCH, FAMILIES, X, Y, dense

import moxing.keras
from moxing import flags
from moxing.errors import MoxTypeError

Said = Callable[[str], list[str]]


@pytest.fixture(autouse=True)
def dry() -> Iterator[None]:
    with flags.overridden(dry_run=True):
        yield


@pytest.mark.parametrize("package", FAMILIES)
def test_a_fit_saves_restores_and_evaluates_elsewhere(
    package: str, said: Said, tmp_path: Path
) -> None:
    saves = importlib.import_module(package).callbacks.ModelCheckpoint(str(tmp_path / "m.keras"))
    result = moxing.keras.fit(
        dense(package),
        (X, Y),
        validation_data=(X, Y),
        batch_size=BATCH,
        epochs=50,
        output_dir=tmp_path / "out",
        callbacks=[saves],
        verbose=0,
    )
    assert (result.global_step, result.steps) == (2, 1)
    assert {"loss", "val_loss"} <= set(result.history)
    assert os.listdir(tmp_path) == []
    assert said("left out, as they write files") == [
        "Dry run: left out, as they write files: ModelCheckpoint."
    ]
    (inputs,) = said("a batch of each device")
    assert f"input 0 float32 ({BATCH}, {X.shape[1]})" in inputs
    assert said("Dry run of") == [
        "Dry run of TRAIN passed: trained one step, saved, restored, trained one more step,"
        f" evaluated one batch. Nothing was written to {tmp_path}/out."
    ]


def test_a_fit_without_a_folder_and_an_evaluation(said: Said) -> None:
    moxing.keras.fit(dense("keras"), (X, Y), batch_size=BATCH, steps=100)
    assert said("Dry run of") == [
        "Dry run of TRAIN passed: trained one step, saved, restored, trained one more step."
    ]


def test_an_evaluation_and_a_prediction_take_one_batch(said: Said) -> None:
    model = dense("keras")
    rows: Any = moxing.keras.predict(model, X, batch_size=4)
    assert len(rows) == 4
    assert "loss" in moxing.keras.evaluate(model, X, Y, batch_size=4)
    assert len(said("passed: one batch.")) == 2


def test_a_wrong_argument_is_told_and_the_next_fit_is_dry_again() -> None:
    with pytest.raises(MoxTypeError, match=r"moxing\.keras\.fit has no argument epoch"):
        moxing.keras.fit(dense("keras"), (X, Y), batch_size=BATCH, epoch=2)
    assert moxing.keras.fit(dense("keras"), (X, Y), batch_size=BATCH).steps == 1
