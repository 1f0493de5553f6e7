"""Callbacks that work in every batch are refused, however they are made."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from models import BATCH, FAMILIES, X, Y, dense

import moxing.keras
from moxing.errors import MoxNotSupportedError
from moxing.keras.callbacks import Callbacks

IN_BATCHES = [
    ("keras", "on_train_batch_end"),
    ("keras", "on_train_batch_begin"),
    ("keras", "on_batch_end"),
    ("tf_keras", "on_batch_end"),
    ("tf_keras", "on_train_batch_end"),
]


@pytest.mark.parametrize(("package", "method"), IN_BATCHES)
def test_a_lambda_callback_of_batches_is_refused(package: str, method: str) -> None:
    keras: Any = importlib.import_module(package)
    called = keras.callbacks.LambdaCallback(**{method: lambda batch, logs: None})

    with pytest.raises(MoxNotSupportedError) as caught:
        Callbacks([called], None, True, package)

    assert str(caught.value) == (
        f"The callback LambdaCallback has {method}, which would stop training after every step. Let"
        " it do its work in on_epoch_end; values of every step are in output_dir, for TensorBoard."
    )


@pytest.mark.parametrize("package", FAMILIES)
def test_fit_calls_one_of_epochs_and_refuses_one_of_batches_before_it_trains(package: str) -> None:
    keras: Any = importlib.import_module(package)
    seen: list[int] = []
    of_epochs = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    model = dense(package)
    before = model.get_weights()[0]

    with pytest.raises(MoxNotSupportedError, match="LambdaCallback has on_train_batch_end"):
        moxing.keras.fit(
            model,
            (X, Y),
            batch_size=BATCH,
            callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=print)],
        )
    assert (model.get_weights()[0] == before).all()
    moxing.keras.fit(model, (X, Y), batch_size=BATCH, epochs=2, callbacks=[of_epochs])

    assert seen == [0, 1]
