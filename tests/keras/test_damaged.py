"""Damaged checkpoints of moxing.keras.fit are named, and the newest whole one is used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damages import DAMAGES, Damage, skipped
from models import BATCH, X, Y, dense

import moxing.keras
from moxing.errors import MoxRuntimeError

Said = Callable[[str], list[str]]
PACKAGE = "tf_keras"


def fit(folder: Path, epochs: int) -> Any:
    model = dense(PACKAGE)
    settings = {"batch_size": BATCH, "epochs": epochs, "seed": 1, "save_every": 2}
    moxing.keras.fit(model, (X, Y), output_dir=folder, **settings)
    return model


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[np.ndarray]:
    """The weights of two epochs that nothing interrupts."""
    return fit(tmp_path_factory.mktemp("whole"), 2).get_weights()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_run_goes_on_as_if_nothing_were_damaged(
    damage: Damage, whole: list[np.ndarray], tmp_path: Path, said: Said
) -> None:
    fit(tmp_path, 1)
    steps = sorted(int(path.stem.rpartition("-")[2]) for path in tmp_path.glob("*.index"))
    damage.make(tmp_path / f"model.ckpt-{steps[-1]}")
    before = set(tmp_path.iterdir())
    start = len(said(""))
    if damage.in_the_way:
        with pytest.raises(MoxRuntimeError, match="is a directory, where checkpoints have a file"):
            fit(tmp_path, 2)
        assert set(tmp_path.iterdir()) == before
        return
    model = fit(tmp_path, 2)
    lines = said("")[start:]
    assert skipped(lines, damage)
    assert any(f"model.ckpt-{steps[-2 if damage.costs else -1]}" in line for line in lines)
    for found, wanted in zip(model.get_weights(), whole, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_model_gets_the_newest_whole_one(damage: Damage, tmp_path: Path, said: Said) -> None:
    fit(tmp_path, 1)
    steps = sorted(int(path.stem.rpartition("-")[2]) for path in tmp_path.glob("*.index"))
    wanted, last = dense(PACKAGE), tmp_path / f"model.ckpt-{steps[-1]}"
    moxing.keras.restore(wanted, f"{tmp_path}/model.ckpt-{steps[-2 if damage.costs else -1]}")
    damage.make(last)
    before = set(tmp_path.iterdir())
    start, model = len(said("")), dense(PACKAGE)
    moxing.keras.restore(model, tmp_path)
    assert skipped(said("")[start:], damage)
    for found, value in zip(model.get_weights(), wanted.get_weights(), strict=True):
        np.testing.assert_array_equal(found, value)
    assert set(tmp_path.iterdir()) == before
