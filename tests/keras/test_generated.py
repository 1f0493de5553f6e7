"""Batches that Python makes: PyDataset, Sequence and generators, as in Keras' own `fit`."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from models import BATCH, FAMILIES, X, Y, assert_equal, assert_histories, dense, eagerly

import moxing.keras
from moxing.errors import MoxTypeError, MoxValueError


def sequence(package: str, ends: list[int]) -> Any:
    """The data as batches, the last of which is smaller; the labels move after each epoch."""
    keras: Any = importlib.import_module(package)

    class Batches(keras.utils.Sequence):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.labels = Y.copy()

        def __len__(self) -> int:
            return -(-len(X) // BATCH)

        def __getitem__(self, number: int) -> Any:
            part = slice(number * BATCH, (number + 1) * BATCH)
            return X[part].astype(np.float64), self.labels[part]

        def on_epoch_end(self) -> None:
            ends.append(1)

    return Batches()


@pytest.mark.parametrize("package", FAMILIES)
@pytest.mark.parametrize("devices", [1, 2])
def test_a_sequence_trains_as_in_keras(package: str, devices: int) -> None:
    theirs, ours, ends = dense(package), dense(package), list[int]()
    data = sequence(package, [])
    expected = eagerly(theirs).fit(data, epochs=2, shuffle=False, verbose=0, validation_data=data)
    given = sequence(package, ends)
    result = moxing.keras.fit(
        ours, given, epochs=2, validation_data=sequence(package, []), num_gpus=devices
    )
    assert_equal(theirs, ours)
    assert_histories(result.history, expected.history)
    assert ends


def batches() -> Iterator[Any]:
    for start in range(0, 96, BATCH):
        yield X[start : start + BATCH], Y[start : start + BATCH]


def endless() -> Iterator[Any]:
    while True:
        yield from batches()


@pytest.mark.parametrize("form", ["object", "function"])
def test_a_generator_trains_as_in_keras(form: str) -> None:
    theirs, ours = dense("keras"), dense("keras")
    eagerly(theirs).fit(endless(), epochs=2, steps_per_epoch=3, verbose=0)
    given = endless() if form == "object" else batches
    moxing.keras.fit(ours, given, epochs=2, steps_per_epoch=3)
    assert_equal(theirs, ours)


def test_a_generator_that_ends_early_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tensorflow"):
        found = moxing.keras.fit(dense("keras"), batches(), epochs=2, steps_per_epoch=3)
    assert found.global_step == 3
    assert "train_data ended at step 3, before step 6" in caplog.text


def test_keras_positions() -> None:
    theirs, ours = dense("keras"), dense("keras")
    eagerly(theirs).fit(X, Y, BATCH, 2, 0, None, 0.0, None, False)
    moxing.keras.fit(ours, X, Y, BATCH, 2, 0, None, 0.0, None, False)
    assert_equal(theirs, ours)
    with pytest.raises(MoxTypeError, match="batch_size by position and by name"):
        moxing.keras.fit(ours, X, Y, BATCH, batch_size=BATCH)


def test_errors_say_what_to_write() -> None:
    with pytest.raises(MoxValueError, match="steps_per_epoch="):
        moxing.keras.fit(dense("keras"), endless(), epochs=2)
    with pytest.raises(MoxValueError, match="Leave batch_size out"):
        moxing.keras.fit(dense("keras"), endless(), batch_size=3, steps=2)
    with pytest.raises(MoxValueError, match="before its first batch"):
        moxing.keras.fit(dense("keras"), iter_of([]), steps=2)
    with pytest.raises(MoxValueError, match="eval_steps="):
        moxing.keras.fit(dense("keras"), endless(), endless(), steps=2)
    with pytest.raises(MoxTypeError, match="4 parts"):
        moxing.keras.fit(dense("keras"), iter_of([(X, Y, Y, Y)]), steps=2)


def iter_of(given: list[Any]) -> Iterator[Any]:
    yield from given
